// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// What is only moved is moved in vectors.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.vector_load %x[[[Vi]] * 4] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT:     affine.vector_store [[V0]], %out[[[Vi]] * -4 + 12] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @moved(%out: memref<16xf32>, %x: memref<16xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<16, scalar<f32>>
    %asScalar = rise.asScalar #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
    %reverse = rise.reverse #rise.nat<4> #rise.vector<4, scalar<f32>>
    %asVector = rise.asVector #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
    %1 = rise.apply %asVector, %0
    %2 = rise.apply %reverse, %1
    %3 = rise.apply %asScalar, %2
    rise.out %out <- %3
    rise.return
  }
  func.return
}

// A scalar many times.
// CHECK-LABEL: func.func @repeated
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %x[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:     [[V1:%\w+]] = vector.broadcast [[V0]] : f32 to vector<3xf32>
// CHECK-NEXT:     affine.vector_store [[V1]], %out[[[Vi]] * 3] : memref<12xf32>, vector<3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @repeated(%out: memref<12xf32>, %x: memref<4xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<4, scalar<f32>>
    %asScalar = rise.asScalar #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
    %map = rise.map #rise.nat<4> #rise.scalar<f32> #rise.vector<3, scalar<f32>>
    %fun = rise.lambda (%x0 : !rise.scalar<f32>) -> !rise.vector<3, scalar<f32>> {
      %vectorFromScalar = rise.vectorFromScalar #rise.nat<3> #rise.scalar<f32>
      %1 = rise.apply %vectorFromScalar, %x0
      rise.return %1 : !rise.vector<3, scalar<f32>>
    }
    %2 = rise.apply %map, %fun, %0
    %3 = rise.apply %asScalar, %2
    rise.out %out <- %3
    rise.return
  }
  func.return
}

// An operation on vectors is one of MLIR on vectors.
// CHECK-LABEL: func.func @squared
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.vector_load %x[[[Vi]] * 4] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT:     [[V1:%\w+]] = arith.mulf [[V0]], [[V0]] : vector<4xf32>
// CHECK-NEXT:     affine.vector_store [[V1]], %out[[[Vi]] * 4] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @squared(%out: memref<16xf32>, %x: memref<16xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<16, scalar<f32>>
    %asScalar = rise.asScalar #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
    %map = rise.map #rise.nat<4> #rise.vector<4, scalar<f32>> #rise.vector<4, scalar<f32>>
    %fun = rise.lambda (%v : !rise.vector<4, scalar<f32>>) -> !rise.vector<4, scalar<f32>> {
      %1 = rise.embed(%v) {
        %2 = arith.mulf %v, %v : vector<4xf32>
        rise.return %2 : vector<4xf32>
      } : !rise.vector<4, scalar<f32>>
      rise.return %1 : !rise.vector<4, scalar<f32>>
    }
    %asVector = rise.asVector #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
    %3 = rise.apply %asVector, %0
    %4 = rise.apply %map, %fun, %3
    %5 = rise.apply %asScalar, %4
    rise.out %out <- %5
    rise.return
  }
  func.return
}
