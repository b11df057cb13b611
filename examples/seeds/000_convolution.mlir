// Seed 000, listing 4: a 2D convolution of a 6 x 8 image with 3 x 3 weights.
func.func @convolution(%out : memref<6x8xf32>, %inImage : memref<6x8xf32>, %inWeights : memref<3x3xf32>) {
  rise.lowering_unit {
    %image = rise.in %inImage : !rise.array<6, array<8, scalar<f32>>>
    %weights = rise.in %inWeights : !rise.array<3, array<3, scalar<f32>>>

    // pad2D(1, 1, image)
    %padRow = rise.pad #rise.nat<8> #rise.nat<1> #rise.nat<1> #rise.scalar<f32>
    %mapPad = rise.map #rise.nat<6> #rise.array<8, scalar<f32>> #rise.array<10, scalar<f32>>
    %paddedRows = rise.apply %mapPad, %padRow, %image
    %padColumn = rise.pad #rise.nat<6> #rise.nat<1> #rise.nat<1> #rise.array<10, scalar<f32>>
    %padded = rise.apply %padColumn, %paddedRows

    // slide2D(3, 1, padded)
    %slideRow = rise.slide #rise.nat<8> #rise.nat<3> #rise.nat<1> #rise.scalar<f32>
    %mapSlide = rise.map #rise.nat<8> #rise.array<10, scalar<f32>> #rise.array<8, array<3, scalar<f32>>>
    %slidRows = rise.apply %mapSlide, %slideRow, %padded
    %slideColumn = rise.slide #rise.nat<6> #rise.nat<3> #rise.nat<1> #rise.array<8, array<3, scalar<f32>>>
    %slid = rise.apply %slideColumn, %slidRows
    %transpose = rise.transpose #rise.nat<3> #rise.nat<8> #rise.array<3, scalar<f32>>
    %mapTranspose = rise.map #rise.nat<6> #rise.array<3, array<8, array<3, scalar<f32>>>> #rise.array<8, array<3, array<3, scalar<f32>>>>
    %windows = rise.apply %mapTranspose, %transpose, %slid

    %weightedSum = rise.lambda (%window : !rise.array<3, array<3, scalar<f32>>>) -> !rise.scalar<f32> {
      // join(zip2D(window, weights))
      %zipRows = rise.zip #rise.nat<3> #rise.array<3, scalar<f32>> #rise.array<3, scalar<f32>>
      %rows = rise.apply %zipRows, %window, %weights
      %zipRow = rise.lambda (%row : !rise.tuple<array<3, scalar<f32>>, array<3, scalar<f32>>>) -> !rise.array<3, tuple<scalar<f32>, scalar<f32>>> {
        %fst = rise.fst #rise.array<3, scalar<f32>> #rise.array<3, scalar<f32>>
        %snd = rise.snd #rise.array<3, scalar<f32>> #rise.array<3, scalar<f32>>
        %first = rise.apply %fst, %row
        %second = rise.apply %snd, %row
        %zip = rise.zip #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
        %zipped = rise.apply %zip, %first, %second
        rise.return %zipped : !rise.array<3, tuple<scalar<f32>, scalar<f32>>>
      }
      %mapZip = rise.map #rise.nat<3> #rise.tuple<array<3, scalar<f32>>, array<3, scalar<f32>>> #rise.array<3, tuple<scalar<f32>, scalar<f32>>>
      %zipped = rise.apply %mapZip, %zipRow, %rows
      %join = rise.join #rise.nat<3> #rise.nat<3> #rise.tuple<scalar<f32>, scalar<f32>>
      %joined = rise.apply %join, %zipped

      %add = rise.lambda (%tuple : !rise.tuple<scalar<f32>, scalar<f32>>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %fst = rise.fst #rise.scalar<f32> #rise.scalar<f32>
        %snd = rise.snd #rise.scalar<f32> #rise.scalar<f32>
        %first = rise.apply %fst, %tuple
        %second = rise.apply %snd, %tuple
        %sum = rise.embed(%first, %second, %acc) {
          %product = arith.mulf %first, %second : f32
          %sum = arith.addf %acc, %product : f32
          rise.return %sum : f32
        } : !rise.scalar<f32>
        rise.return %sum : !rise.scalar<f32>
      }
      %init = rise.literal #rise.lit<0.0>
      %reduce = rise.reduceSeq {to = "affine"} #rise.nat<9> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
      %result = rise.apply %reduce, %add, %init, %joined
      rise.return %result : !rise.scalar<f32>
    }
    // mapSeq2D
    %row = rise.lambda (%line : !rise.array<8, array<3, array<3, scalar<f32>>>>) -> !rise.array<8, scalar<f32>> {
      %map = rise.mapSeq {to = "affine"} #rise.nat<8> #rise.array<3, array<3, scalar<f32>>> #rise.scalar<f32>
      %result = rise.apply %map, %weightedSum, %line
      rise.return %result : !rise.array<8, scalar<f32>>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<6> #rise.array<8, array<3, array<3, scalar<f32>>>> #rise.array<8, scalar<f32>>
    %result = rise.apply %map, %row, %windows
    rise.out %out <- %result
    rise.return
  }
  func.return
}
