// Seed 002: the dot product whose lowering the talk shows, with the types of the lambda's parameters.
func.func @dot(%out : memref<1xf32>, %a : memref<1024xf32>, %b : memref<1024xf32>) {
  %lhs = rise.in %a : !rise.array<1024, scalar<f32>>
  %rhs = rise.in %b : !rise.array<1024, scalar<f32>>
  %zip = rise.zip #rise.nat<1024> #rise.scalar<f32> #rise.scalar<f32>
  %zipped = rise.apply %zip, %lhs, %rhs
  %f = rise.lambda (%tuple : !rise.tuple<scalar<f32>, scalar<f32>>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
    %fstFun = rise.fst #rise.scalar<f32> #rise.scalar<f32>
    %sndFun = rise.snd #rise.scalar<f32> #rise.scalar<f32>
    %fst = rise.apply %fstFun, %tuple
    %snd = rise.apply %sndFun, %tuple
    %result = rise.embed(%fst, %snd, %acc) {
      %product = arith.mulf %fst, %snd : f32
      %res = arith.addf %product, %acc : f32
      rise.return %res : f32
    } : !rise.scalar<f32>
    rise.return %result : !rise.scalar<f32>
  }
  %init = rise.literal #rise.lit<0.0>
  %reduce = rise.reduceSeq #rise.nat<1024> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
  %result = rise.apply %reduce, %f, %init, %zipped
  rise.out %out <- %result
  func.return
}
