// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// What is only moved is moved in vectors.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:     [[V1:%\w+]] = arith.muli [[Vi]], [[V0]] : index
// CHECK-NEXT:     [[V2:%\w+]] = vector.load %x[[[V1]]] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT:     [[V3:%\w+]] = arith.constant -4 : index
// CHECK-NEXT:     [[V4:%\w+]] = arith.muli [[Vi]], [[V3]] : index
// CHECK-NEXT:     [[V5:%\w+]] = arith.constant 12 : index
// CHECK-NEXT:     [[V6:%\w+]] = arith.addi [[V4]], [[V5]] : index
// CHECK-NEXT:     vector.store [[V2]], %out[[[V6]]] : memref<16xf32>, vector<4xf32>
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
// CHECK-NEXT:     [[V2:%\w+]] = arith.constant 3 : index
// CHECK-NEXT:     [[V3:%\w+]] = arith.muli [[Vi]], [[V2]] : index
// CHECK-NEXT:     vector.store [[V1]], %out[[[V3]]] : memref<12xf32>, vector<3xf32>
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
// CHECK-NEXT:     [[V0:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:     [[V1:%\w+]] = arith.muli [[Vi]], [[V0]] : index
// CHECK-NEXT:     [[V2:%\w+]] = vector.load %x[[[V1]]] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT:     [[V3:%\w+]] = arith.mulf [[V2]], [[V2]] : vector<4xf32>
// CHECK-NEXT:     [[V4:%\w+]] = arith.constant 4 : index
// CHECK-NEXT:     [[V5:%\w+]] = arith.muli [[Vi]], [[V4]] : index
// CHECK-NEXT:     vector.store [[V3]], %out[[[V5]]] : memref<16xf32>, vector<4xf32>
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
