// RUN: rise-opt %s -p resolve-rise-access | filecheck %s

// Loops of the affine dialect: affine loads and stores, an affine.if where a pad decides.

// CHECK-LABEL: func.func @mapSeq
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %in[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     [[V1:%\w+]] = arith.negf [[V0]] : f32
// CHECK-NEXT:     affine.store [[V1]], %out[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @mapSeq(%out: memref<4xf32>, %in: memref<4xf32>) {
  %0 = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
  affine.for %i = 0 to 4 {
    %2 = rise.codegen.idx %0, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %3 = rise.codegen.idx %1, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %4 = rise.embed(%2) {
      %5 = arith.negf %2 : f32
      rise.return %5 : f32
    } : !rise.scalar<f32>
    rise.codegen.assign %4, %3 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @mapPar
// CHECK-NEXT:   affine.parallel ([[Vi:%\w+]]) = (0) to (4) {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %in[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     affine.store [[V0]], %out[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @mapPar(%out: memref<4xf32>, %in: memref<4xf32>) {
  %0 = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
  affine.parallel (%i) = (0) to (4) {
    %2 = rise.codegen.idx %0, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %3 = rise.codegen.idx %1, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %2, %3 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @mapsThatAreRead
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V2:%\w+]] = affine.load %in[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     [[V3:%\w+]] = arith.negf [[V2]] : f32
// CHECK-NEXT:     [[V4:%\w+]] = arith.negf [[V3]] : f32
// CHECK-NEXT:     affine.store [[V4]], [[V0]][[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V5:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 4 iter_args([[V6:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:     [[V7:%\w+]] = affine.load [[V0]][[[Vix1]]] : memref<4xf32>
// CHECK-NEXT:     [[V8:%\w+]] = arith.addf [[V7]], [[V6]] : f32
// CHECK-NEXT:     affine.yield [[V8]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V5]], %out[] : memref<f32>
// CHECK-NEXT:   func.return

func.func @mapsThatAreRead(%out: memref<f32>, %in: memref<4xf32>) {
  %0 = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<f32> -> !rise.scalar<f32>
  %2 = rise.embed() {
    %3 = arith.constant 0.000000e+00 : f32
    rise.return %3 : f32
  } : !rise.scalar<f32>
  %3 = rise.codegen.cast %2 : !rise.scalar<f32> -> f32
  %4 = memref.alloca() {rise.temporary} : memref<4xf32>
  %5 = rise.codegen.cast %4 : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %6 = rise.codegen.mapread %0 : !rise.array<4, scalar<f32>> -> !rise.array<4, scalar<f32>> {
  ^bb0(%7: !rise.scalar<f32>):
    %8 = rise.embed(%7) {
      %9 = arith.negf %7 : f32
      rise.return %9 : f32
    } : !rise.scalar<f32>
    rise.return %8 : !rise.scalar<f32>
  }
  affine.for %i = 0 to 4 {
    %9 = rise.codegen.idx %6, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %10 = rise.codegen.idx %5, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %11 = rise.embed(%9) {
      %12 = arith.negf %9 : f32
      rise.return %12 : f32
    } : !rise.scalar<f32>
    rise.codegen.assign %11, %10 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  %12 = affine.for %i_1 = 0 to 4 iter_args(%13 = %3) -> (f32) {
    %14 = rise.codegen.idx %5, %i_1 : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %15 = rise.codegen.cast %13 : f32 -> !rise.scalar<f32>
    %16 = rise.embed(%14, %15) {
      %17 = arith.addf %14, %15 : f32
      rise.return %17 : f32
    } : !rise.scalar<f32>
    %17 = rise.codegen.cast %16 : !rise.scalar<f32> -> f32
    affine.yield %17 : f32
  }
  %18 = rise.codegen.cast %12 : f32 -> !rise.scalar<f32>
  rise.codegen.assign %18, %1 : !rise.scalar<f32>, !rise.scalar<f32>
  func.return
}

// CHECK-LABEL: func.func @reduceOfArrays
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
// CHECK-NEXT:   [[V1:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<2xf32>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 2 {
// CHECK-NEXT:     [[V2:%\w+]] = affine.load %init[[[Vi]]] : memref<2xf32>
// CHECK-NEXT:     affine.store [[V2]], [[V1]][[[Vi]]] : memref<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V3:%\w+]], [[V4:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 3 iter_args([[V5:%\w+]] = [[V1]], [[V6:%\w+]] = [[V0]]) -> (memref<2xf32>, memref<2xf32>) {
// CHECK-NEXT:     affine.for [[Vix2:%\w+]] = 0 to 2 {
// CHECK-NEXT:       [[V7:%\w+]] = affine.load %in[[[Vix1]], [[Vix2]]] : memref<3x2xf32>
// CHECK-NEXT:       affine.store [[V7]], [[V6]][[[Vix2]]] : memref<2xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.yield [[V6]], [[V5]] : memref<2xf32>, memref<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix3:%\w+]] = 0 to 2 {
// CHECK-NEXT:     [[V8:%\w+]] = affine.load [[V3]][[[Vix3]]] : memref<2xf32>
// CHECK-NEXT:     affine.store [[V8]], %out[[[Vix3]]] : memref<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @reduceOfArrays(%out: memref<2xf32>, %in: memref<3x2xf32>, %init: memref<2xf32>) {
  %0 = rise.codegen.cast %in : memref<3x2xf32> -> !rise.array<3, array<2, scalar<f32>>>
  %1 = rise.codegen.cast %init : memref<2xf32> -> !rise.array<2, scalar<f32>>
  %2 = rise.codegen.cast %out : memref<2xf32> -> !rise.array<2, scalar<f32>>
  %3 = memref.alloca() {rise.temporary} : memref<2xf32>
  %4 = memref.alloca() {rise.temporary} : memref<2xf32>
  %5 = rise.codegen.cast %3 : memref<2xf32> -> !rise.array<2, scalar<f32>>
  affine.for %i = 0 to 2 {
    %6 = rise.codegen.idx %1, %i : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
    %7 = rise.codegen.idx %5, %i : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %6, %7 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  %8, %9 = affine.for %i_1 = 0 to 3 iter_args(%10 = %3, %11 = %4) -> (memref<2xf32>, memref<2xf32>) {
    %12 = rise.codegen.cast %10 : memref<2xf32> -> !rise.array<2, scalar<f32>>
    %13 = rise.codegen.cast %11 : memref<2xf32> -> !rise.array<2, scalar<f32>>
    %14 = rise.codegen.idx %0, %i_1 : !rise.array<3, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
    affine.for %i_2 = 0 to 2 {
      %15 = rise.codegen.idx %14, %i_2 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
      %16 = rise.codegen.idx %13, %i_2 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
      rise.codegen.assign %15, %16 : !rise.scalar<f32>, !rise.scalar<f32>
    }
    affine.yield %11, %10 : memref<2xf32>, memref<2xf32>
  }
  %17 = rise.codegen.cast %8 : memref<2xf32> -> !rise.array<2, scalar<f32>>
  affine.for %i_3 = 0 to 2 {
    %18 = rise.codegen.idx %17, %i_3 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
    %19 = rise.codegen.idx %2, %i_3 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %18, %19 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @viewsThatAreRead
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 6 {
// CHECK-NEXT:     affine.for [[Vix1:%\w+]] = 0 to 2 {
// CHECK-NEXT:       [[V0:%\w+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       [[V1:%\w+]] = affine.for [[Vix2:%\w+]] = 0 to 2 iter_args([[V2:%\w+]] = [[V0]]) -> (f32) {
// CHECK-NEXT:         [[V3:%\w+]] = "affine.if"([[Vi]], [[Vix1]], [[Vix2]]) <{condition = affine_set<(d0, d1, d2) : (((((d0 * 2) + d1) + d2) + -1) >= 0)>}> ({
// CHECK-NEXT:           [[V4:%\w+]] = affine.load %in[([[Vi]] * 2 + [[Vix1]] + [[Vix2]] + 2) mod 3, ([[Vi]] * 2 + [[Vix1]] + [[Vix2]] + 2) floordiv 3 + -1] : memref<3x4xf32>
// CHECK-NEXT:           affine.yield [[V4]] : f32
// CHECK-NEXT:         }, {
// CHECK-NEXT:           [[V5:%\w+]] = affine.load %in[0, 0] : memref<3x4xf32>
// CHECK-NEXT:           affine.yield [[V5]] : f32
// CHECK-NEXT:         }) : (index, index, index) -> f32
// CHECK-NEXT:         affine.yield [[V3]] : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       affine.store [[V1]], %out[[[Vi]], [[Vix1]]] : memref<6x2xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @viewsThatAreRead(%out: memref<6x2xf32>, %in: memref<3x4xf32>) {
  %0 = rise.codegen.cast %in : memref<3x4xf32> -> !rise.array<3, array<4, scalar<f32>>>
  %1 = rise.codegen.cast %out : memref<6x2xf32> -> !rise.array<6, array<2, scalar<f32>>>
  %2 = rise.codegen.transpose %0 : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  %3 = rise.codegen.join %2 : !rise.array<4, array<3, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  %4 = rise.codegen.pad %3 left <1> : !rise.array<12, scalar<f32>> -> !rise.array<13, scalar<f32>>
  %5 = rise.codegen.slide %4 step <1> : !rise.array<13, scalar<f32>> -> !rise.array<12, array<2, scalar<f32>>>
  %6 = rise.codegen.split %5 : !rise.array<12, array<2, scalar<f32>>> -> !rise.array<6, array<2, array<2, scalar<f32>>>>
  affine.for %i = 0 to 6 {
    %7 = rise.codegen.idx %6, %i : !rise.array<6, array<2, array<2, scalar<f32>>>> -> !rise.array<2, array<2, scalar<f32>>>
    %8 = rise.codegen.idx %1, %i : !rise.array<6, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
    %9 = rise.codegen.transpose %7 : !rise.array<2, array<2, scalar<f32>>> -> !rise.array<2, array<2, scalar<f32>>>
    affine.for %i_1 = 0 to 2 {
      %10 = rise.codegen.idx %9, %i_1 : !rise.array<2, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
      %11 = rise.codegen.idx %8, %i_1 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
      %12 = rise.embed() {
        %13 = arith.constant 1.000000e+00 : f32
        rise.return %13 : f32
      } : !rise.scalar<f32>
      %13 = rise.codegen.cast %12 : !rise.scalar<f32> -> f32
      %14 = affine.for %i_2 = 0 to 2 iter_args(%15 = %13) -> (f32) {
        %16 = rise.codegen.idx %10, %i_2 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
        %17 = rise.codegen.cast %15 : f32 -> !rise.scalar<f32>
        %18 = rise.codegen.cast %16 : !rise.scalar<f32> -> f32
        affine.yield %18 : f32
      }
      %19 = rise.codegen.cast %14 : f32 -> !rise.scalar<f32>
      rise.codegen.assign %19, %11 : !rise.scalar<f32>, !rise.scalar<f32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @viewsThatAreStored
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 12 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %in[[[Vi]]] : memref<12xf32>
// CHECK-NEXT:     affine.store [[V0]], %out[[[Vi]] mod 3, [[Vi]] floordiv 3] : memref<3x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @viewsThatAreStored(%out: memref<3x4xf32>, %in: memref<12xf32>) {
  %0 = rise.codegen.cast %in : memref<12xf32> -> !rise.array<12, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<3x4xf32> -> !rise.array<3, array<4, scalar<f32>>>
  %2 = rise.codegen.transposeAcc %1 : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  %3 = rise.codegen.splitAcc %2 : !rise.array<4, array<3, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  affine.for %i = 0 to 12 {
    %4 = rise.codegen.idx %0, %i : !rise.array<12, scalar<f32>> -> !rise.scalar<f32>
    %5 = rise.codegen.idx %3, %i : !rise.array<12, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %4, %5 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @joinThatIsStored
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 2 {
// CHECK-NEXT:     affine.for [[Vix1:%\w+]] = 0 to 3 {
// CHECK-NEXT:       [[V0:%\w+]] = affine.load %in[[[Vi]], [[Vix1]]] : memref<2x3xf32>
// CHECK-NEXT:       affine.store [[V0]], %out[[[Vi]] * 3 + [[Vix1]]] : memref<6xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @joinThatIsStored(%out: memref<6xf32>, %in: memref<2x3xf32>) {
  %0 = rise.codegen.cast %in : memref<2x3xf32> -> !rise.array<2, array<3, scalar<f32>>>
  %1 = rise.codegen.cast %out : memref<6xf32> -> !rise.array<6, scalar<f32>>
  %2 = rise.codegen.joinAcc %1 : !rise.array<6, scalar<f32>> -> !rise.array<2, array<3, scalar<f32>>>
  affine.for %i = 0 to 2 {
    %3 = rise.codegen.idx %0, %i : !rise.array<2, array<3, scalar<f32>>> -> !rise.array<3, scalar<f32>>
    %4 = rise.codegen.idx %2, %i : !rise.array<2, array<3, scalar<f32>>> -> !rise.array<3, scalar<f32>>
    affine.for %i_1 = 0 to 3 {
      %5 = rise.codegen.idx %3, %i_1 : !rise.array<3, scalar<f32>> -> !rise.scalar<f32>
      %6 = rise.codegen.idx %4, %i_1 : !rise.array<3, scalar<f32>> -> !rise.scalar<f32>
      rise.codegen.assign %5, %6 : !rise.scalar<f32>, !rise.scalar<f32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @pairs
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %a[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     affine.store [[V0]], %out[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @pairs(%out: memref<4xf32>, %a: memref<4xf32>, %b: memref<4xi32>) {
  %0 = rise.codegen.cast %a : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %b : memref<4xi32> -> !rise.array<4, scalar<i32>>
  %2 = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %3 = rise.codegen.zip %0, %1 : !rise.array<4, scalar<f32>>, !rise.array<4, scalar<i32>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  affine.for %i = 0 to 4 {
    %4 = rise.codegen.idx %3, %i : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<scalar<f32>, scalar<i32>>
    %5 = rise.codegen.idx %2, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %6 = rise.codegen.fst %4 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
    rise.codegen.assign %6, %5 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @pairsThatAreStored
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %c[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     affine.store [[V0]], %a[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix1:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V1:%\w+]] = affine.load %d[[[Vix1]]] : memref<4xi32>
// CHECK-NEXT:     affine.store [[V1]], %b[[[Vix1]]] : memref<4xi32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @pairsThatAreStored(%a: memref<4xf32>, %b: memref<4xi32>, %c: memref<4xf32>, %d: memref<4xi32>) {
  %0 = rise.codegen.cast %c : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %d : memref<4xi32> -> !rise.array<4, scalar<i32>>
  %2 = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  %3 = rise.codegen.zipAcc1 %2 : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<f32>>
  affine.for %i = 0 to 4 {
    %4 = rise.codegen.idx %0, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %5 = rise.codegen.idx %3, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %4, %5 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  %6 = rise.codegen.zipAcc2 %2 : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<i32>>
  affine.for %i_1 = 0 to 4 {
    %7 = rise.codegen.idx %1, %i_1 : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
    %8 = rise.codegen.idx %6, %i_1 : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
    rise.codegen.assign %7, %8 : !rise.scalar<i32>, !rise.scalar<i32>
  }
  func.return
}

// CHECK-LABEL: func.func @unzipThatIsStored
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %c[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     [[V1:%\w+]] = affine.load %d[[[Vi]]] : memref<4xi32>
// CHECK-NEXT:     affine.store [[V0]], %a[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     affine.store [[V1]], %b[[[Vi]]] : memref<4xi32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @unzipThatIsStored(%a: memref<4xf32>, %b: memref<4xi32>, %c: memref<4xf32>, %d: memref<4xi32>) {
  %0 = rise.codegen.cast %c, %d : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  %1 = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
  %2 = rise.codegen.unzipAcc %1 : !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  affine.for %i = 0 to 4 {
    %3 = rise.codegen.idx %0, %i : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<scalar<f32>, scalar<i32>>
    %4 = rise.codegen.idx %2, %i : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<scalar<f32>, scalar<i32>>
    %5 = rise.codegen.fst %3 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
    %6 = rise.codegen.fst %4 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
    rise.codegen.assign %5, %6 : !rise.scalar<f32>, !rise.scalar<f32>
    %7 = rise.codegen.snd %3 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
    %8 = rise.codegen.snd %4 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
    rise.codegen.assign %7, %8 : !rise.scalar<i32>, !rise.scalar<i32>
  }
  func.return
}

// CHECK-LABEL: func.func @unzipThatIsRead
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %d[[[Vi]]] : memref<4xi32>
// CHECK-NEXT:     affine.store [[V0]], %out[[[Vi]]] : memref<4xi32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @unzipThatIsRead(%out: memref<4xi32>, %c: memref<4xf32>, %d: memref<4xi32>) {
  %0 = rise.codegen.cast %c, %d : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  %1 = rise.codegen.cast %out : memref<4xi32> -> !rise.array<4, scalar<i32>>
  %2 = rise.codegen.unzip %0 : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
  %3 = rise.codegen.snd %2 : !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>> -> !rise.array<4, scalar<i32>>
  affine.for %i = 0 to 4 {
    %4 = rise.codegen.idx %3, %i : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
    %5 = rise.codegen.idx %1, %i : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
    rise.codegen.assign %4, %5 : !rise.scalar<i32>, !rise.scalar<i32>
  }
  func.return
}

// CHECK-LABEL: func.func @tupleThatIsStored
// CHECK-NEXT:   [[V0:%\w+]] = affine.load %c[] : memref<f32>
// CHECK-NEXT:   [[V1:%\w+]] = affine.load %d[] : memref<i32>
// CHECK-NEXT:   affine.store [[V0]], %a[] : memref<f32>
// CHECK-NEXT:   affine.store [[V1]], %b[] : memref<i32>
// CHECK-NEXT:   func.return

func.func @tupleThatIsStored(%a: memref<f32>, %b: memref<i32>, %c: memref<f32>, %d: memref<i32>) {
  %0 = rise.codegen.cast %c : memref<f32> -> !rise.scalar<f32>
  %1 = rise.codegen.cast %d : memref<i32> -> !rise.scalar<i32>
  %2 = rise.codegen.cast %a, %b : memref<f32>, memref<i32> -> !rise.tuple<scalar<f32>, scalar<i32>>
  %3 = rise.codegen.fst %2 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
  rise.codegen.assign %0, %3 : !rise.scalar<f32>, !rise.scalar<f32>
  %4 = rise.codegen.snd %2 : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
  rise.codegen.assign %1, %4 : !rise.scalar<i32>, !rise.scalar<i32>
  func.return
}

// Loops of the scf dialect: plain loads and stores, indices in arith, min and max for a pad.

// CHECK-LABEL: func.func @mapSeqInScf
// CHECK-NEXT:   [[V0:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   scf.for [[Vi:%\w+]] = [[V0]] to [[V1]] step [[V2]] {
// CHECK-NEXT:     [[V3:%\w+]] = memref.load %in[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     [[V4:%\w+]] = arith.negf [[V3]] : f32
// CHECK-NEXT:     memref.store [[V4]], %out[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @mapSeqInScf(%out: memref<4xf32>, %in: memref<4xf32>) {
  %0 = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %2 = arith.constant 0 : index
  %3 = arith.constant 4 : index
  %4 = arith.constant 1 : index
  scf.for %i = %2 to %3 step %4 {
    %5 = rise.codegen.idx %0, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %6 = rise.codegen.idx %1, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %7 = rise.embed(%5) {
      %8 = arith.negf %5 : f32
      rise.return %8 : f32
    } : !rise.scalar<f32>
    rise.codegen.assign %7, %6 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @mapParInScf
// CHECK-NEXT:   [[V0:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   "scf.parallel"([[V0]], [[V1]], [[V2]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT:   ^bb0([[Vi:%\w+]]: index):
// CHECK-NEXT:     [[V3:%\w+]] = memref.load %in[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     memref.store [[V3]], %out[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     scf.reduce
// CHECK-NEXT:   }) : (index, index, index) -> ()
// CHECK-NEXT:   func.return

func.func @mapParInScf(%out: memref<4xf32>, %in: memref<4xf32>) {
  %0 = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %2 = arith.constant 0 : index
  %3 = arith.constant 4 : index
  %4 = arith.constant 1 : index
  "scf.parallel"(%2, %3, %4) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %5 = rise.codegen.idx %0, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %6 = rise.codegen.idx %1, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %5, %6 : !rise.scalar<f32>, !rise.scalar<f32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @mapsThatAreReadInScf
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V3:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:   [[V4:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   scf.for [[Vi:%\w+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT:     [[V5:%\w+]] = memref.load %in[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     [[V6:%\w+]] = arith.negf [[V5]] : f32
// CHECK-NEXT:     [[V7:%\w+]] = arith.negf [[V6]] : f32
// CHECK-NEXT:     memref.store [[V7]], [[V0]][[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V8:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V9:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:   [[V10:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   [[V11:%\w+]] = scf.for [[Vix1:%\w+]] = [[V8]] to [[V9]] step [[V10]] iter_args([[V12:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:     [[V13:%\w+]] = memref.load [[V0]][[[Vix1]]] : memref<4xf32>
// CHECK-NEXT:     [[V14:%\w+]] = arith.addf [[V13]], [[V12]] : f32
// CHECK-NEXT:     scf.yield [[V14]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V11]], %out[] : memref<f32>
// CHECK-NEXT:   func.return

func.func @mapsThatAreReadInScf(%out: memref<f32>, %in: memref<4xf32>) {
  %0 = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<f32> -> !rise.scalar<f32>
  %2 = rise.embed() {
    %3 = arith.constant 0.000000e+00 : f32
    rise.return %3 : f32
  } : !rise.scalar<f32>
  %3 = rise.codegen.cast %2 : !rise.scalar<f32> -> f32
  %4 = memref.alloca() {rise.temporary} : memref<4xf32>
  %5 = rise.codegen.cast %4 : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %6 = rise.codegen.mapread %0 : !rise.array<4, scalar<f32>> -> !rise.array<4, scalar<f32>> {
  ^bb0(%7: !rise.scalar<f32>):
    %8 = rise.embed(%7) {
      %9 = arith.negf %7 : f32
      rise.return %9 : f32
    } : !rise.scalar<f32>
    rise.return %8 : !rise.scalar<f32>
  }
  %9 = arith.constant 0 : index
  %10 = arith.constant 4 : index
  %11 = arith.constant 1 : index
  scf.for %i = %9 to %10 step %11 {
    %12 = rise.codegen.idx %6, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %13 = rise.codegen.idx %5, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %14 = rise.embed(%12) {
      %15 = arith.negf %12 : f32
      rise.return %15 : f32
    } : !rise.scalar<f32>
    rise.codegen.assign %14, %13 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  %15 = arith.constant 0 : index
  %16 = arith.constant 4 : index
  %17 = arith.constant 1 : index
  %18 = scf.for %i_1 = %15 to %16 step %17 iter_args(%19 = %3) -> (f32) {
    %20 = rise.codegen.idx %5, %i_1 : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
    %21 = rise.codegen.cast %19 : f32 -> !rise.scalar<f32>
    %22 = rise.embed(%20, %21) {
      %23 = arith.addf %20, %21 : f32
      rise.return %23 : f32
    } : !rise.scalar<f32>
    %23 = rise.codegen.cast %22 : !rise.scalar<f32> -> f32
    scf.yield %23 : f32
  }
  %24 = rise.codegen.cast %18 : f32 -> !rise.scalar<f32>
  rise.codegen.assign %24, %1 : !rise.scalar<f32>, !rise.scalar<f32>
  func.return
}

// CHECK-LABEL: func.func @viewsThatAreReadInScf
// CHECK-NEXT:   [[V0:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 6 : index
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   scf.for [[Vi:%\w+]] = [[V0]] to [[V1]] step [[V2]] {
// CHECK-NEXT:     [[V3:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     [[V4:%\w+]] = arith.constant 2 : index
// CHECK-NEXT:     [[V5:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:     scf.for [[Vix1:%\w+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT:       [[V6:%\w+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       [[V7:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:       [[V8:%\w+]] = arith.constant 2 : index
// CHECK-NEXT:       [[V9:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:       [[V10:%\w+]] = scf.for [[Vix2:%\w+]] = [[V7]] to [[V8]] step [[V9]] iter_args([[V11:%\w+]] = [[V6]]) -> (f32) {
// CHECK-NEXT:         [[V12:%\w+]] = arith.constant 2 : index
// CHECK-NEXT:         [[V13:%\w+]] = arith.muli [[Vi]], [[V12]] : index
// CHECK-NEXT:         [[V14:%\w+]] = arith.addi [[V13]], [[Vix1]] : index
// CHECK-NEXT:         [[V15:%\w+]] = arith.addi [[V14]], [[Vix2]] : index
// CHECK-NEXT:         [[V16:%\w+]] = arith.constant -1 : index
// CHECK-NEXT:         [[V17:%\w+]] = arith.addi [[V15]], [[V16]] : index
// CHECK-NEXT:         [[V18:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:         [[V19:%\w+]] = arith.maxsi [[V17]], [[V18]] : index
// CHECK-NEXT:         [[V20:%\w+]] = arith.constant 3 : index
// CHECK-NEXT:         [[V21:%\w+]] = arith.remui [[V19]], [[V20]] : index
// CHECK-NEXT:         [[V22:%\w+]] = arith.divui [[V19]], [[V20]] : index
// CHECK-NEXT:         [[V23:%\w+]] = memref.load %in[[[V21]], [[V22]]] : memref<3x4xf32>
// CHECK-NEXT:         scf.yield [[V23]] : f32
// CHECK-NEXT:       }
// CHECK-NEXT:       memref.store [[V10]], %out[[[Vi]], [[Vix1]]] : memref<6x2xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @viewsThatAreReadInScf(%out: memref<6x2xf32>, %in: memref<3x4xf32>) {
  %0 = rise.codegen.cast %in : memref<3x4xf32> -> !rise.array<3, array<4, scalar<f32>>>
  %1 = rise.codegen.cast %out : memref<6x2xf32> -> !rise.array<6, array<2, scalar<f32>>>
  %2 = rise.codegen.transpose %0 : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  %3 = rise.codegen.join %2 : !rise.array<4, array<3, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  %4 = rise.codegen.pad %3 left <1> : !rise.array<12, scalar<f32>> -> !rise.array<13, scalar<f32>>
  %5 = rise.codegen.slide %4 step <1> : !rise.array<13, scalar<f32>> -> !rise.array<12, array<2, scalar<f32>>>
  %6 = rise.codegen.split %5 : !rise.array<12, array<2, scalar<f32>>> -> !rise.array<6, array<2, array<2, scalar<f32>>>>
  %7 = arith.constant 0 : index
  %8 = arith.constant 6 : index
  %9 = arith.constant 1 : index
  scf.for %i = %7 to %8 step %9 {
    %10 = rise.codegen.idx %6, %i : !rise.array<6, array<2, array<2, scalar<f32>>>> -> !rise.array<2, array<2, scalar<f32>>>
    %11 = rise.codegen.idx %1, %i : !rise.array<6, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
    %12 = rise.codegen.transpose %10 : !rise.array<2, array<2, scalar<f32>>> -> !rise.array<2, array<2, scalar<f32>>>
    %13 = arith.constant 0 : index
    %14 = arith.constant 2 : index
    %15 = arith.constant 1 : index
    scf.for %i_1 = %13 to %14 step %15 {
      %16 = rise.codegen.idx %12, %i_1 : !rise.array<2, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
      %17 = rise.codegen.idx %11, %i_1 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
      %18 = rise.embed() {
        %19 = arith.constant 1.000000e+00 : f32
        rise.return %19 : f32
      } : !rise.scalar<f32>
      %19 = rise.codegen.cast %18 : !rise.scalar<f32> -> f32
      %20 = arith.constant 0 : index
      %21 = arith.constant 2 : index
      %22 = arith.constant 1 : index
      %23 = scf.for %i_2 = %20 to %21 step %22 iter_args(%24 = %19) -> (f32) {
        %25 = rise.codegen.idx %16, %i_2 : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
        %26 = rise.codegen.cast %24 : f32 -> !rise.scalar<f32>
        %27 = rise.codegen.cast %25 : !rise.scalar<f32> -> f32
        scf.yield %27 : f32
      }
      %28 = rise.codegen.cast %23 : f32 -> !rise.scalar<f32>
      rise.codegen.assign %28, %17 : !rise.scalar<f32>, !rise.scalar<f32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @viewsThatAreStoredInScf
// CHECK-NEXT:   [[V0:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 12 : index
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   scf.for [[Vi:%\w+]] = [[V0]] to [[V1]] step [[V2]] {
// CHECK-NEXT:     [[V3:%\w+]] = memref.load %in[[[Vi]]] : memref<12xf32>
// CHECK-NEXT:     [[V4:%\w+]] = arith.constant 3 : index
// CHECK-NEXT:     [[V5:%\w+]] = arith.remui [[Vi]], [[V4]] : index
// CHECK-NEXT:     [[V6:%\w+]] = arith.divui [[Vi]], [[V4]] : index
// CHECK-NEXT:     memref.store [[V3]], %out[[[V5]], [[V6]]] : memref<3x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @viewsThatAreStoredInScf(%out: memref<3x4xf32>, %in: memref<12xf32>) {
  %0 = rise.codegen.cast %in : memref<12xf32> -> !rise.array<12, scalar<f32>>
  %1 = rise.codegen.cast %out : memref<3x4xf32> -> !rise.array<3, array<4, scalar<f32>>>
  %2 = rise.codegen.transposeAcc %1 : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  %3 = rise.codegen.splitAcc %2 : !rise.array<4, array<3, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  %4 = arith.constant 0 : index
  %5 = arith.constant 12 : index
  %6 = arith.constant 1 : index
  scf.for %i = %4 to %5 step %6 {
    %7 = rise.codegen.idx %0, %i : !rise.array<12, scalar<f32>> -> !rise.scalar<f32>
    %8 = rise.codegen.idx %3, %i : !rise.array<12, scalar<f32>> -> !rise.scalar<f32>
    rise.codegen.assign %7, %8 : !rise.scalar<f32>, !rise.scalar<f32>
  }
  func.return
}

// CHECK-LABEL: func.func @joinThatIsStoredInScf
// CHECK-NEXT:   [[V0:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 2 : index
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   scf.for [[Vi:%\w+]] = [[V0]] to [[V1]] step [[V2]] {
// CHECK-NEXT:     [[V3:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     [[V4:%\w+]] = arith.constant 3 : index
// CHECK-NEXT:     [[V5:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:     scf.for [[Vix1:%\w+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT:       [[V6:%\w+]] = memref.load %in[[[Vi]], [[Vix1]]] : memref<2x3xf32>
// CHECK-NEXT:       [[V7:%\w+]] = arith.constant 3 : index
// CHECK-NEXT:       [[V8:%\w+]] = arith.muli [[Vi]], [[V7]] : index
// CHECK-NEXT:       [[V9:%\w+]] = arith.addi [[V8]], [[Vix1]] : index
// CHECK-NEXT:       memref.store [[V6]], %out[[[V9]]] : memref<6xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @joinThatIsStoredInScf(%out: memref<6xf32>, %in: memref<2x3xf32>) {
  %0 = rise.codegen.cast %in : memref<2x3xf32> -> !rise.array<2, array<3, scalar<f32>>>
  %1 = rise.codegen.cast %out : memref<6xf32> -> !rise.array<6, scalar<f32>>
  %2 = rise.codegen.joinAcc %1 : !rise.array<6, scalar<f32>> -> !rise.array<2, array<3, scalar<f32>>>
  %3 = arith.constant 0 : index
  %4 = arith.constant 2 : index
  %5 = arith.constant 1 : index
  scf.for %i = %3 to %4 step %5 {
    %6 = rise.codegen.idx %0, %i : !rise.array<2, array<3, scalar<f32>>> -> !rise.array<3, scalar<f32>>
    %7 = rise.codegen.idx %2, %i : !rise.array<2, array<3, scalar<f32>>> -> !rise.array<3, scalar<f32>>
    %8 = arith.constant 0 : index
    %9 = arith.constant 3 : index
    %10 = arith.constant 1 : index
    scf.for %i_1 = %8 to %9 step %10 {
      %11 = rise.codegen.idx %6, %i_1 : !rise.array<3, scalar<f32>> -> !rise.scalar<f32>
      %12 = rise.codegen.idx %7, %i_1 : !rise.array<3, scalar<f32>> -> !rise.scalar<f32>
      rise.codegen.assign %11, %12 : !rise.scalar<f32>, !rise.scalar<f32>
    }
  }
  func.return
}
