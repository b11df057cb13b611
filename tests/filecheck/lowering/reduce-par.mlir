// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// One chunk needs no threads.
// CHECK-LABEL: func.func @short
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   [[V2:%\w+]] = affine.for [[Vi:%\w+]] = 0 to 100 iter_args([[V3:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:     [[V4:%\w+]] = affine.load %x[[[Vi]]] : memref<100xf32>
// CHECK-NEXT:     [[V5:%\w+]] = arith.addf [[V4]], [[V3]] : f32
// CHECK-NEXT:     affine.yield [[V5]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V2]], [[V0]][0] : memref<1xf32>
// CHECK-NEXT:   [[V7:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 1 iter_args([[V8:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:     [[V9:%\w+]] = affine.load [[V0]][0] : memref<1xf32>
// CHECK-NEXT:     [[V10:%\w+]] = arith.addf [[V9]], [[V8]] : f32
// CHECK-NEXT:     affine.yield [[V10]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V7]], %out[] : memref<f32>
// CHECK-NEXT:   func.return

func.func @short(%out: memref<f32>, %x: memref<100xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<100, scalar<f32>>
    %reducePar = rise.reducePar #rise.nat<100> #rise.scalar<f32>
    %fun = rise.lambda (%x0 : !rise.scalar<f32>, %x1 : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %1 = rise.embed(%x0, %x1) {
        %2 = arith.addf %x0, %x1 : f32
        rise.return %2 : f32
      } : !rise.scalar<f32>
      rise.return %1 : !rise.scalar<f32>
    }
    %2 = rise.literal #rise.lit<0.000000e+00>
    %3 = rise.apply %reducePar, %fun, %2, %0
    rise.out %out <- %3
    rise.return
  }
  func.return
}

// Whole chunks on threads, the rest behind them, then the results in order.
// CHECK-LABEL: func.func @long
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<3xf32>
// CHECK-NEXT:   [[V1:%\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   affine.parallel ([[Vi:%\w+]]) = (0) to (2) {
// CHECK-NEXT:     [[V2:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 4096 iter_args([[V3:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:       [[V4:%\w+]] = affine.load %x[[[Vi]] * 4096 + [[Vix1]]] : memref<10000xf32>
// CHECK-NEXT:       [[V5:%\w+]] = arith.addf [[V4]], [[V3]] : f32
// CHECK-NEXT:       affine.yield [[V5]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.store [[V2]], [[V0]][[[Vi]]] : memref<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V6:%\w+]] = affine.for [[Vix2:%\w+]] = 0 to 1808 iter_args([[V7:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:     [[V8:%\w+]] = affine.load %x[[[Vix2]] + 8192] : memref<10000xf32>
// CHECK-NEXT:     [[V9:%\w+]] = arith.addf [[V8]], [[V7]] : f32
// CHECK-NEXT:     affine.yield [[V9]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V6]], [[V0]][2] : memref<3xf32>
// CHECK-NEXT:   [[V11:%\w+]] = affine.for [[Vix3:%\w+]] = 0 to 3 iter_args([[V12:%\w+]] = [[V1]]) -> (f32) {
// CHECK-NEXT:     [[V13:%\w+]] = affine.load [[V0]][[[Vix3]]] : memref<3xf32>
// CHECK-NEXT:     [[V14:%\w+]] = arith.addf [[V13]], [[V12]] : f32
// CHECK-NEXT:     affine.yield [[V14]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V11]], %out[] : memref<f32>
// CHECK-NEXT:   func.return

func.func @long(%out: memref<f32>, %x: memref<10000xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<10000, scalar<f32>>
    %reducePar = rise.reducePar #rise.nat<10000> #rise.scalar<f32>
    %fun = rise.lambda (%x0 : !rise.scalar<f32>, %x1 : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %1 = rise.embed(%x0, %x1) {
        %2 = arith.addf %x0, %x1 : f32
        rise.return %2 : f32
      } : !rise.scalar<f32>
      rise.return %1 : !rise.scalar<f32>
    }
    %2 = rise.literal #rise.lit<0.000000e+00>
    %3 = rise.apply %reducePar, %fun, %2, %0
    rise.out %out <- %3
    rise.return
  }
  func.return
}
