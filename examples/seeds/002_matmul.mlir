// Seed 002, matrix multiplication, small and with three different sizes.
// Each row of the second matrix is a column of the product's right factor: out = A * transposed B.
// The result types of f1 and f2, and the last type of mapB, are corrected.
func.func @mm(%out : memref<4x5xf32>, %inA : memref<4x6xf32>, %inB : memref<5x6xf32>) {
  %A = rise.in %inA : !rise.array<4, array<6, scalar<f32>>>
  %B = rise.in %inB : !rise.array<5, array<6, scalar<f32>>>
  %f1 = rise.lambda (%arow : !rise.array<6, scalar<f32>>) -> !rise.array<5, scalar<f32>> {
    %f2 = rise.lambda (%bcol : !rise.array<6, scalar<f32>>) -> !rise.scalar<f32> {
      %zip = rise.zip #rise.nat<6> #rise.scalar<f32> #rise.scalar<f32>
      %zipped = rise.apply %zip, %arow, %bcol
      %f = rise.lambda (%tuple : !rise.tuple<scalar<f32>, scalar<f32>>) -> !rise.scalar<f32> {
        %fstFun = rise.fst #rise.scalar<f32> #rise.scalar<f32>
        %sndFun = rise.snd #rise.scalar<f32> #rise.scalar<f32>
        %fst = rise.apply %fstFun, %tuple
        %snd = rise.apply %sndFun, %tuple
        %result = rise.embed(%fst, %snd) {
          %res = arith.mulf %fst, %snd : f32
          rise.return %res : f32
        } : !rise.scalar<f32>
        rise.return %result : !rise.scalar<f32>
      }
      %map = rise.mapSeq #rise.nat<6> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
      %multipliedArray = rise.apply %map, %f, %zipped
      %add = rise.lambda (%a : !rise.scalar<f32>, %b : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %result = rise.embed(%a, %b) {
          %res = arith.addf %a, %b : f32
          rise.return %res : f32
        } : !rise.scalar<f32>
        rise.return %result : !rise.scalar<f32>
      }
      %init = rise.literal #rise.lit<0.0>
      %reduce = rise.reduceSeq #rise.nat<6> #rise.scalar<f32> #rise.scalar<f32>
      %result = rise.apply %reduce, %add, %init, %multipliedArray
      rise.return %result : !rise.scalar<f32>
    }
    %mapB = rise.mapSeq #rise.nat<5> #rise.array<6, scalar<f32>> #rise.scalar<f32>
    %result = rise.apply %mapB, %f2, %B
    rise.return %result : !rise.array<5, scalar<f32>>
  }
  %mapA = rise.mapSeq #rise.nat<4> #rise.array<6, scalar<f32>> #rise.array<5, scalar<f32>>
  %result = rise.apply %mapA, %f1, %A
  rise.out %out <- %result
  func.return
}
