// RUN: rise-opt %s -p raise-to-library-calls | filecheck %s

// A product of matrices becomes one call; the loops are gone.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: rise.library_calls = ["{{.*}}gemm 4x6x5"]
// CHECK-NOT: affine.for
// CHECK: func.call @cblas_sgemm
func.func @matmul(%out : memref<4x6xf32> {llvm.noalias}, %a : memref<4x5xf32>, %b : memref<5x6xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 6 {
      %zero = arith.constant 0.0 : f32
      %sum = affine.for %k = 0 to 5 iter_args(%before = %zero) -> (f32) {
        %x = affine.load %a[%i, %k] : memref<4x5xf32>
        %y = affine.load %b[%k, %j] : memref<5x6xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %before, %p : f32
        affine.yield %s : f32
      }
      affine.store %sum, %out[%i, %j] : memref<4x6xf32>
    }
  }
  func.return
}

// Where the result may be one of the factors, the loops stay.
// CHECK-LABEL: func.func @unknown
// CHECK-SAME: rise.near_library_calls = ["{{.*}}the result may share memory with an operand"]
// CHECK: affine.for
func.func @unknown(%out : memref<4xf32>, %a : memref<4x5xf32>, %b : memref<5xf32>) {
  affine.for %i = 0 to 4 {
    %zero = arith.constant 0.0 : f32
    %sum = affine.for %k = 0 to 5 iter_args(%before = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<4x5xf32>
      %y = affine.load %b[%k] : memref<5xf32>
      %s = math.fma %x, %y, %before : f32
      affine.yield %s : f32
    }
    affine.store %sum, %out[%i] : memref<4xf32>
  }
  func.return
}
