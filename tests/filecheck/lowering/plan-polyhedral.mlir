// RUN: rise-opt %s -p plan-polyhedral | filecheck %s

// Each iteration writes an element of its own, one beside the other.
// CHECK-LABEL: func.func @independent
// CHECK-SAME: rise.passes = "affine-loop-tile{tile-sizes=8,16},canonicalize,affine-scalrep,affine-super-vectorize{virtual-vector-size=4 test-fastest-varying=0}"
func.func @independent(%C : memref<8x16xf32>, %A : memref<8x16xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 16 {
      %x = affine.load %A[%i, %j] : memref<8x16xf32>
      %y = arith.addf %x, %x : f32
      affine.store %y, %C[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

// An element is made of one from the iteration before.
// CHECK-LABEL: func.func @dependent
// CHECK-SAME: rise.not_tiled = "iterations of its loops may depend on each other"
// CHECK-SAME: rise.not_vectorized = "iterations of its inner loop may depend on each other"
// CHECK-SAME: rise.passes = "canonicalize,affine-scalrep"
func.func @dependent(%C : memref<8x17xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 1 to 17 {
      %x = affine.load %C[%i, %j - 1] : memref<8x17xf32>
      affine.store %x, %C[%i, %j] : memref<8x17xf32>
    }
  }
  func.return
}
