// Seed 000, figures 6 and 7a: matrix multiplication, as printed, with the type annotations that
// the figures leave out for readability.
func.func @mm_fused(%outArg : memref<2048x2048xf32>, %inA : memref<2048x2048xf32>, %inB : memref<2048x2048xf32>) {
  %A = rise.in %inA : !rise.array<2048, array<2048, scalar<f32>>>
  %B = rise.in %inB : !rise.array<2048, array<2048, scalar<f32>>>
  %t = rise.transpose #rise.nat<2048> #rise.nat<2048> #rise.scalar<f32>
  %B_t = rise.apply %t, %B
  %m1fun = rise.lambda (%arow : !rise.array<2048, scalar<f32>>) -> !rise.array<2048, scalar<f32>> {
    %m2fun = rise.lambda (%bcol : !rise.array<2048, scalar<f32>>) -> !rise.scalar<f32> {
      %zipFun = rise.zip #nat<2048> #scalar<f32> #scalar<f32>
      %zippedArrays = rise.apply %zipFun, %arow, %bcol
      %reductionLambda = rise.lambda (%tuple : !rise.tuple<scalar<f32>, scalar<f32>>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
          %fstFun = rise.fst #rise.scalar<f32> #rise.scalar<f32>
          %sndFun = rise.snd #rise.scalar<f32> #rise.scalar<f32>
          %first = rise.apply %fstFun, %tuple
          %second = rise.apply %sndFun, %tuple
          %result = rise.embed(%first, %second, %acc) {
            %product = arith.mulf %first, %second : f32
            %result = arith.addf %product, %acc : f32
            rise.return %result : f32
          } : !rise.scalar<f32>
          rise.return %result : !rise.scalar<f32>
      }
      %init = rise.literal #lit<0.0>
      %reduceFun = rise.reduceSeq #nat<2048> #tuple<scalar<f32>, scalar<f32>> #scalar<f32>
      %result = rise.apply %reduceFun, %reductionLambda, %init, %zippedArrays
      rise.return %result : !rise.scalar<f32>
    }
    %m2 = rise.mapSeq #nat<2048> #array<2048, scalar<f32>> #scalar<f32>
    %result = rise.apply %m2, %m2fun, %B_t
    rise.return %result : !rise.array<2048, scalar<f32>>
  }
  %m1 = rise.mapSeq #nat<2048> #array<2048, scalar<f32>> #array<2048, scalar<f32>>
  %result = rise.apply %m1, %m1fun, %A
  rise.out %outArg <- %result
  func.return
}

func.func @mm(%outArg : memref<2048x2048xf32>, %inA : memref<2048x2048xf32>, %inB : memref<2048x2048xf32>) {
  %A = rise.in %inA : !rise.array<2048, array<2048, scalar<f32>>>
  %B = rise.in %inB : !rise.array<2048, array<2048, scalar<f32>>>
  %t = rise.transpose #rise.nat<2048> #rise.nat<2048> #rise.scalar<f32>
  %B_t = rise.apply %t, %B
  %m1fun = rise.lambda (%arow : !rise.array<2048, scalar<f32>>) -> !rise.array<2048, scalar<f32>> {
    %m2fun = rise.lambda (%bcol : !rise.array<2048, scalar<f32>>) -> !rise.scalar<f32> {
      %zipFun = rise.zip #nat<2048> #scalar<f32> #scalar<f32>
      %zippedArrays = rise.apply %zipFun, %arow, %bcol
      %reductionLambda = rise.lambda (%tuple : !rise.tuple<scalar<f32>, scalar<f32>>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
          %fstFun = rise.fst #rise.scalar<f32> #rise.scalar<f32>
          %first = rise.apply %fstFun, %tuple
          %sndFun = rise.snd #rise.scalar<f32> #rise.scalar<f32>
          %second = rise.apply %sndFun, %tuple
          %result = rise.embed(%first, %second, %acc) {
            %product = arith.mulf %first, %second : f32
            %result = arith.addf %product, %acc : f32
            rise.return %result : f32
          } : !rise.scalar<f32>
          rise.return %result : !rise.scalar<f32>
      }
      %init = rise.literal #lit<0.0>
      %reduceFun = rise.reduceSeq #nat<2048> #tuple<scalar<f32>, scalar<f32>> #scalar<f32>
      %result = rise.apply %reduceFun, %reductionLambda, %init, %zippedArrays
      rise.return %result : !rise.scalar<f32>
    }
    %m2 = rise.mapSeq #nat<2048> #array<2048, scalar<f32>> #scalar<f32>
    %result = rise.apply %m2, %m2fun, %B_t
    rise.return %result : !rise.array<2048, scalar<f32>>
  }
  %m1 = rise.mapSeq #nat<2048> #array<2048, scalar<f32>> #array<2048, scalar<f32>>
  %result = rise.apply %m1, %m1fun, %A
  rise.out %outArg <- %result
  func.return
}
