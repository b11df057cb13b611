// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// A ring of four elements, each computed once.
// CHECK-LABEL: func.func @ring
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 2 {
// CHECK-NEXT:     [[V1:%\w+]] = affine.load %x[[[Vi]]] : memref<10xf32>
// CHECK-NEXT:     [[V2:%\w+]] = arith.mulf [[V1]], [[V1]] : f32
// CHECK-NEXT:     affine.store [[V2]], [[V0]][[[Vi]] mod 4] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix1:%\w+]] = 0 to 8 {
// CHECK-NEXT:     [[V3:%\w+]] = affine.load %x[[[Vix1]] + 2] : memref<10xf32>
// CHECK-NEXT:     [[V4:%\w+]] = arith.mulf [[V3]], [[V3]] : f32
// CHECK-NEXT:     affine.store [[V4]], [[V0]][([[Vix1]] + 2) mod 4] : memref<4xf32>
// CHECK-NEXT:     [[V5:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     [[V6:%\w+]] = affine.for [[Vix2:%\w+]] = 0 to 3 iter_args([[V7:%\w+]] = [[V5]]) -> (f32) {
// CHECK-NEXT:       [[V8:%\w+]] = affine.load [[V0]][([[Vix1]] + [[Vix2]]) mod 4] : memref<4xf32>
// CHECK-NEXT:       [[V9:%\w+]] = arith.addf [[V8]], [[V7]] : f32
// CHECK-NEXT:       affine.yield [[V9]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.store [[V6]], %out[[[Vix1]]] : memref<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @ring(%out: memref<8xf32>, %x: memref<10xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<10, scalar<f32>>
    %mapSeq = rise.mapSeq #rise.nat<8> #rise.array<3, scalar<f32>> #rise.scalar<f32>
    %fun = rise.lambda (%x0 : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
      %reduce = rise.reduce #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
      %fun_1 = rise.lambda (%x0_1 : !rise.scalar<f32>, %x1 : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %1 = rise.embed(%x0_1, %x1) {
          %2 = arith.addf %x0_1, %x1 : f32
          rise.return %2 : f32
        } : !rise.scalar<f32>
        rise.return %1 : !rise.scalar<f32>
      }
      %2 = rise.literal #rise.lit<0.000000e+00>
      %3 = rise.apply %reduce, %fun_1, %2, %x0
      rise.return %3 : !rise.scalar<f32>
    }
    %circularBuffer = rise.circularBuffer #rise.nat<4> #rise.nat<3> #rise.nat<8> #rise.scalar<f32> #rise.scalar<f32>
    %fun_2 = rise.lambda (%v : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %4 = rise.embed(%v) {
        %5 = arith.mulf %v, %v : f32
        rise.return %5 : f32
      } : !rise.scalar<f32>
      rise.return %4 : !rise.scalar<f32>
    }
    %5 = rise.apply %circularBuffer, %fun_2, %0
    %6 = rise.apply %mapSeq, %fun, %5
    rise.out %out <- %6
    rise.return
  }
  func.return
}

// The loop carries two elements of a window on to the next.
// CHECK-LABEL: func.func @rotate
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<3xf32>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 2 {
// CHECK-NEXT:     [[V1:%\w+]] = affine.load %x[[[Vi]]] : memref<10xf32>
// CHECK-NEXT:     [[V2:%\w+]] = arith.mulf [[V1]], [[V1]] : f32
// CHECK-NEXT:     affine.store [[V2]], [[V0]][[[Vi]]] : memref<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V4:%\w+]] = affine.load [[V0]][0] : memref<3xf32>
// CHECK-NEXT:   [[V6:%\w+]] = affine.load [[V0]][1] : memref<3xf32>
// CHECK-NEXT:   [[V7:%\w+]], [[V8:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 8 iter_args([[V9:%\w+]] = [[V4]], [[V10:%\w+]] = [[V6]]) -> (f32, f32) {
// CHECK-NEXT:     [[V11:%\w+]] = affine.load %x[[[Vix1]] + 2] : memref<10xf32>
// CHECK-NEXT:     [[V12:%\w+]] = arith.mulf [[V11]], [[V11]] : f32
// CHECK-NEXT:     affine.store [[V9]], [[V0]][0] : memref<3xf32>
// CHECK-NEXT:     affine.store [[V10]], [[V0]][1] : memref<3xf32>
// CHECK-NEXT:     affine.store [[V12]], [[V0]][2] : memref<3xf32>
// CHECK-NEXT:     [[V16:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     [[V17:%\w+]] = affine.for [[Vix2:%\w+]] = 0 to 3 iter_args([[V18:%\w+]] = [[V16]]) -> (f32) {
// CHECK-NEXT:       [[V19:%\w+]] = affine.load [[V0]][[[Vix2]]] : memref<3xf32>
// CHECK-NEXT:       [[V20:%\w+]] = arith.addf [[V19]], [[V18]] : f32
// CHECK-NEXT:       affine.yield [[V20]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.store [[V17]], %out[[[Vix1]]] : memref<8xf32>
// CHECK-NEXT:     affine.yield [[V10]], [[V12]] : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @rotate(%out: memref<8xf32>, %x: memref<10xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<10, scalar<f32>>
    %mapSeq = rise.mapSeq #rise.nat<8> #rise.array<3, scalar<f32>> #rise.scalar<f32>
    %fun = rise.lambda (%x0 : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
      %reduce = rise.reduce #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
      %fun_1 = rise.lambda (%x0_1 : !rise.scalar<f32>, %x1 : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %1 = rise.embed(%x0_1, %x1) {
          %2 = arith.addf %x0_1, %x1 : f32
          rise.return %2 : f32
        } : !rise.scalar<f32>
        rise.return %1 : !rise.scalar<f32>
      }
      %2 = rise.literal #rise.lit<0.000000e+00>
      %3 = rise.apply %reduce, %fun_1, %2, %x0
      rise.return %3 : !rise.scalar<f32>
    }
    %rotateValues = rise.rotateValues #rise.nat<3> #rise.nat<8> #rise.scalar<f32>
    %fun_2 = rise.lambda (%v : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %4 = rise.embed(%v) {
        %5 = arith.mulf %v, %v : f32
        rise.return %5 : f32
      } : !rise.scalar<f32>
      rise.return %4 : !rise.scalar<f32>
    }
    %5 = rise.apply %rotateValues, %fun_2, %0
    %6 = rise.apply %mapSeq, %fun, %5
    rise.out %out <- %6
    rise.return
  }
  func.return
}

// Windows in any order: the mapped array gets memory.
// CHECK-LABEL: func.func @parallel
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<10xf32>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 10 {
// CHECK-NEXT:     [[V1:%\w+]] = affine.load %x[[[Vi]]] : memref<10xf32>
// CHECK-NEXT:     [[V2:%\w+]] = arith.mulf [[V1]], [[V1]] : f32
// CHECK-NEXT:     affine.store [[V2]], [[V0]][[[Vi]]] : memref<10xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.parallel ([[Vix1:%\w+]]) = (0) to (8) {
// CHECK-NEXT:     [[V3:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:     [[V4:%\w+]] = affine.for [[Vix2:%\w+]] = 0 to 3 iter_args([[V5:%\w+]] = [[V3]]) -> (f32) {
// CHECK-NEXT:       [[V6:%\w+]] = affine.load [[V0]][[[Vix1]] + [[Vix2]]] : memref<10xf32>
// CHECK-NEXT:       [[V7:%\w+]] = arith.addf [[V6]], [[V5]] : f32
// CHECK-NEXT:       affine.yield [[V7]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.store [[V4]], %out[[[Vix1]]] : memref<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @parallel(%out: memref<8xf32>, %x: memref<10xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<10, scalar<f32>>
    %mapPar = rise.mapPar #rise.nat<8> #rise.array<3, scalar<f32>> #rise.scalar<f32>
    %fun = rise.lambda (%x0 : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
      %reduce = rise.reduce #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
      %fun_1 = rise.lambda (%x0_1 : !rise.scalar<f32>, %x1 : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %1 = rise.embed(%x0_1, %x1) {
          %2 = arith.addf %x0_1, %x1 : f32
          rise.return %2 : f32
        } : !rise.scalar<f32>
        rise.return %1 : !rise.scalar<f32>
      }
      %2 = rise.literal #rise.lit<0.000000e+00>
      %3 = rise.apply %reduce, %fun_1, %2, %x0
      rise.return %3 : !rise.scalar<f32>
    }
    %circularBuffer = rise.circularBuffer #rise.nat<4> #rise.nat<3> #rise.nat<8> #rise.scalar<f32> #rise.scalar<f32>
    %fun_2 = rise.lambda (%v : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %4 = rise.embed(%v) {
        %5 = arith.mulf %v, %v : f32
        rise.return %5 : f32
      } : !rise.scalar<f32>
      rise.return %4 : !rise.scalar<f32>
    }
    %5 = rise.apply %circularBuffer, %fun_2, %0
    %6 = rise.apply %mapPar, %fun, %5
    rise.out %out <- %6
    rise.return
  }
  func.return
}
