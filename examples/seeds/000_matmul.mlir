// Seed 000, figures 6 and 7a, small and with three different sizes.
func.func @mm_fused(%outArg : memref<7x9xf32>, %inA : memref<7x5xf32>, %inB : memref<5x9xf32>) {
  %A = rise.in %inA : !rise.array<7, array<5, scalar<f32>>>
  %B = rise.in %inB : !rise.array<5, array<9, scalar<f32>>>
  %t = rise.transpose #rise.nat<5> #rise.nat<9> #rise.scalar<f32>
  %B_t = rise.apply %t, %B
  %m1fun = rise.lambda (%arow : !rise.array<5, scalar<f32>>) -> !rise.array<9, scalar<f32>> {
    %m2fun = rise.lambda (%bcol : !rise.array<5, scalar<f32>>) -> !rise.scalar<f32> {
      %zipFun = rise.zip #nat<5> #scalar<f32> #scalar<f32>
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
      %reduceFun = rise.reduceSeq #nat<5> #tuple<scalar<f32>, scalar<f32>> #scalar<f32>
      %result = rise.apply %reduceFun, %reductionLambda, %init, %zippedArrays
      rise.return %result : !rise.scalar<f32>
    }
    %m2 = rise.mapSeq #nat<9> #array<5, scalar<f32>> #scalar<f32>
    %result = rise.apply %m2, %m2fun, %B_t
    rise.return %result : !rise.array<9, scalar<f32>>
  }
  %m1 = rise.mapSeq #nat<7> #array<5, scalar<f32>> #array<9, scalar<f32>>
  %result = rise.apply %m1, %m1fun, %A
  rise.out %outArg <- %result
  func.return
}

func.func @mm(%outArg : memref<7x9xf32>, %inA : memref<7x5xf32>, %inB : memref<5x9xf32>) {
  %A = rise.in %inA : !rise.array<7, array<5, scalar<f32>>>
  %B = rise.in %inB : !rise.array<5, array<9, scalar<f32>>>
  %t = rise.transpose #rise.nat<5> #rise.nat<9> #rise.scalar<f32>
  %B_t = rise.apply %t, %B
  %m1fun = rise.lambda (%arow : !rise.array<5, scalar<f32>>) -> !rise.array<9, scalar<f32>> {
    %m2fun = rise.lambda (%bcol : !rise.array<5, scalar<f32>>) -> !rise.scalar<f32> {
      %zipFun = rise.zip #nat<5> #scalar<f32> #scalar<f32>
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
      %reduceFun = rise.reduceSeq #nat<5> #tuple<scalar<f32>, scalar<f32>> #scalar<f32>
      %result = rise.apply %reduceFun, %reductionLambda, %init, %zippedArrays
      rise.return %result : !rise.scalar<f32>
    }
    %m2 = rise.mapSeq #nat<9> #array<5, scalar<f32>> #scalar<f32>
    %result = rise.apply %m2, %m2fun, %B_t
    rise.return %result : !rise.array<9, scalar<f32>>
  }
  %m1 = rise.mapSeq #nat<7> #array<5, scalar<f32>> #array<9, scalar<f32>>
  %result = rise.apply %m1, %m1fun, %A
  rise.out %outArg <- %result
  func.return
}
