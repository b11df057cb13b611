// RUN: rise-opt %s -p skip-unchanged-chunks | filecheck %s

// A chunk without a greater element is skipped. Otherwise, two loops over integer keys find the
// first of the greatest elements.

// CHECK-LABEL: func.func @argmax
// CHECK: %[[CHUNK:.*]] = arith.constant 256 : index
// CHECK: scf.for {{.*}} step %[[CHUNK]] iter_args
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK: arith.ori
// CHECK: scf.if
// CHECK: scf.for
// CHECK: arith.maxsi
// CHECK: scf.for
// CHECK: arith.minsi
// CHECK: } else {
func.func @argmax(%out: memref<i32>, %x: memref<1000xf32>) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %max, %position = affine.for %i = 0 to 1000 iter_args(%best = %least, %index = %zero) -> (f32, i32) {
    %new = affine.load %x[%i] : memref<1000xf32>
    %number = arith.index_cast %i : index to i32
    %is_greater = arith.cmpf ogt, %new, %best : f32
    %greater = arith.select %is_greater, %new, %best : f32
    %first = arith.select %is_greater, %number, %index : i32
    affine.yield %greater, %first : f32, i32
  }
  affine.store %position, %out[] : memref<i32>
  return
}

// The number of records depends on the earlier ones, so the iterations of the chunk run.

// CHECK-LABEL: func.func @records
// CHECK: arith.constant 64 : index
// CHECK: arith.ori
// CHECK: scf.if
// CHECK-NOT: arith.maxsi
// CHECK: arith.addi
// CHECK: func.return
func.func @records(%out: memref<i32>, %x: memref<1000xf32>) {
  %least = arith.constant 0xff800000 : f32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %max, %count = affine.for %i = 0 to 1000 iter_args(%best = %least, %sum = %zero) -> (f32, i32) {
    %new = affine.load %x[%i] : memref<1000xf32>
    %is_greater = arith.cmpf ogt, %new, %best : f32
    %greater = arith.select %is_greater, %new, %best : f32
    %next = arith.addi %sum, %one : i32
    %records = arith.select %is_greater, %next, %sum : i32
    affine.yield %greater, %records : f32, i32
  }
  affine.store %count, %out[] : memref<i32>
  return
}

// A sum changes in every iteration, and a short loop is not split.

// CHECK-LABEL: func.func @others
// CHECK-NOT: scf.if
// CHECK: func.return
func.func @others(%out: memref<f32>, %x: memref<1000xf32>) {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %i = 0 to 1000 iter_args(%s = %zero) -> (f32) {
    %new = affine.load %x[%i] : memref<1000xf32>
    %next = arith.addf %s, %new : f32
    affine.yield %next : f32
  }
  %max = affine.for %i = 0 to 100 iter_args(%best = %sum) -> (f32) {
    %new = affine.load %x[%i] : memref<1000xf32>
    %is_greater = arith.cmpf ogt, %new, %best : f32
    %greater = arith.select %is_greater, %new, %best : f32
    affine.yield %greater : f32
  }
  affine.store %max, %out[] : memref<f32>
  return
}
