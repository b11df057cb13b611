// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// Only the outermost parallel loop runs on threads.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT:   affine.parallel ([[Vi:%\w+]]) = (0) to (3) {
// CHECK-NEXT:     affine.for [[Vix1:%\w+]] = 0 to 4 {
// CHECK-NEXT:       [[V0:%\w+]] = affine.load %m[[[Vi]], [[Vix1]]] : memref<3x4xf32>
// CHECK-NEXT:       [[V1:%\w+]] = arith.mulf [[V0]], [[V0]] : f32
// CHECK-NEXT:       affine.store [[V1]], %out[[[Vi]], [[Vix1]]] : memref<3x4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @nested(%out: memref<3x4xf32>, %m: memref<3x4xf32>) {
  rise.lowering_unit {
    %0 = rise.in %m : !rise.array<3, array<4, scalar<f32>>>
    %mapPar = rise.mapPar #rise.nat<3> #rise.array<4, scalar<f32>> #rise.array<4, scalar<f32>>
    %fun = rise.lambda (%x0 : !rise.array<4, scalar<f32>>) -> !rise.array<4, scalar<f32>> {
      %mapPar_1 = rise.mapPar #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
      %fun_1 = rise.lambda (%v : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %1 = rise.embed(%v) {
          %2 = arith.mulf %v, %v : f32
          rise.return %2 : f32
        } : !rise.scalar<f32>
        rise.return %1 : !rise.scalar<f32>
      }
      %2 = rise.apply %mapPar_1, %fun_1, %x0
      rise.return %2 : !rise.array<4, scalar<f32>>
    }
    %3 = rise.apply %mapPar, %fun, %0
    rise.out %out <- %3
    rise.return
  }
  func.return
}

// A loop of one iteration is none.
// CHECK-LABEL: func.func @single
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 1 {
// CHECK-NEXT:     affine.parallel ([[Vix1:%\w+]]) = (0) to (4) {
// CHECK-NEXT:       [[V0:%\w+]] = affine.load %m[0, [[Vix1]]] : memref<1x4xf32>
// CHECK-NEXT:       [[V1:%\w+]] = arith.mulf [[V0]], [[V0]] : f32
// CHECK-NEXT:       affine.store [[V1]], %out[0, [[Vix1]]] : memref<1x4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @single(%out: memref<1x4xf32>, %m: memref<1x4xf32>) {
  rise.lowering_unit {
    %0 = rise.in %m : !rise.array<1, array<4, scalar<f32>>>
    %mapPar = rise.mapPar #rise.nat<1> #rise.array<4, scalar<f32>> #rise.array<4, scalar<f32>>
    %fun = rise.lambda (%x0 : !rise.array<4, scalar<f32>>) -> !rise.array<4, scalar<f32>> {
      %mapPar_1 = rise.mapPar #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
      %fun_1 = rise.lambda (%v : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %1 = rise.embed(%v) {
          %2 = arith.mulf %v, %v : f32
          rise.return %2 : f32
        } : !rise.scalar<f32>
        rise.return %1 : !rise.scalar<f32>
      }
      %2 = rise.apply %mapPar_1, %fun_1, %x0
      rise.return %2 : !rise.array<4, scalar<f32>>
    }
    %3 = rise.apply %mapPar, %fun, %0
    rise.out %out <- %3
    rise.return
  }
  func.return
}
