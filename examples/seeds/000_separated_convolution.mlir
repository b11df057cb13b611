// Seed 000, listing 5: the convolution of listing 4 as a vertical and a horizontal one.
func.func @separated(%out : memref<6x8xf32>, %inImage : memref<6x8xf32>, %inH : memref<3xf32>, %inV : memref<3xf32>) {
  rise.lowering_unit {
    %image = rise.in %inImage : !rise.array<6, array<8, scalar<f32>>>
    %weightsH = rise.in %inH : !rise.array<3, scalar<f32>>
    %weightsV = rise.in %inV : !rise.array<3, scalar<f32>>

    %dot = rise.lambda (%nbh : !rise.array<3, scalar<f32>>, %weights : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
      %zip = rise.zip #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
      %zipped = rise.apply %zip, %nbh, %weights
      %add = rise.lambda (%tuple : !rise.tuple<scalar<f32>, scalar<f32>>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %fst = rise.fst #rise.scalar<f32> #rise.scalar<f32>
        %snd = rise.snd #rise.scalar<f32> #rise.scalar<f32>
        %a = rise.apply %fst, %tuple
        %b = rise.apply %snd, %tuple
        %sum = rise.embed(%a, %b, %acc) {
          %product = arith.mulf %a, %b : f32
          %sum = arith.addf %acc, %product : f32
          rise.return %sum : f32
        } : !rise.scalar<f32>
        rise.return %sum : !rise.scalar<f32>
      }
      %init = rise.literal #rise.lit<0.0>
      %reduce = rise.reduceSeq {to = "affine"} #rise.nat<3> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
      %result = rise.apply %reduce, %add, %init, %zipped
      rise.return %result : !rise.scalar<f32>
    }

    %padRow = rise.pad #rise.nat<8> #rise.nat<1> #rise.nat<1> #rise.scalar<f32>
    %mapPad = rise.map #rise.nat<6> #rise.array<8, scalar<f32>> #rise.array<10, scalar<f32>>
    %paddedRows = rise.apply %mapPad, %padRow, %image
    %padColumn = rise.pad #rise.nat<6> #rise.nat<1> #rise.nat<1> #rise.array<10, scalar<f32>>
    %padded = rise.apply %padColumn, %paddedRows

    %slideRows = rise.slide #rise.nat<6> #rise.nat<3> #rise.nat<1> #rise.array<10, scalar<f32>>
    %slid = rise.apply %slideRows, %padded
    %verticalRow = rise.lambda (%arr : !rise.array<3, array<10, scalar<f32>>>) -> !rise.array<10, scalar<f32>> {
      %transpose = rise.transpose #rise.nat<3> #rise.nat<10> #rise.scalar<f32>
      %columns = rise.apply %transpose, %arr
      %sum = rise.lambda (%nbh : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
        %result = rise.apply %dot, %nbh, %weightsV
        rise.return %result : !rise.scalar<f32>
      }
      %map = rise.mapSeq {to = "affine"} #rise.nat<10> #rise.array<3, scalar<f32>> #rise.scalar<f32>
      %result = rise.apply %map, %sum, %columns
      rise.return %result : !rise.array<10, scalar<f32>>
    }
    %mapVertical = rise.mapSeq {to = "affine"} #rise.nat<6> #rise.array<3, array<10, scalar<f32>>> #rise.array<10, scalar<f32>>
    %vertical = rise.apply %mapVertical, %verticalRow, %slid

    %horizontalRow = rise.lambda (%arr : !rise.array<10, scalar<f32>>) -> !rise.array<8, scalar<f32>> {
      %slide = rise.slide #rise.nat<8> #rise.nat<3> #rise.nat<1> #rise.scalar<f32>
      %windows = rise.apply %slide, %arr
      %sum = rise.lambda (%nbh : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
        %result = rise.apply %dot, %nbh, %weightsH
        rise.return %result : !rise.scalar<f32>
      }
      %map = rise.mapSeq {to = "affine"} #rise.nat<8> #rise.array<3, scalar<f32>> #rise.scalar<f32>
      %result = rise.apply %map, %sum, %windows
      rise.return %result : !rise.array<8, scalar<f32>>
    }
    %mapHorizontal = rise.mapSeq {to = "affine"} #rise.nat<6> #rise.array<10, scalar<f32>> #rise.array<8, scalar<f32>>
    %result = rise.apply %mapHorizontal, %horizontalRow, %vertical
    rise.out %out <- %result
    rise.return
  }
  func.return
}
