// RUN: rise-opt %s -p split-index-sets | filecheck %s

// Each part knows the results of the comparisons.

// CHECK-LABEL: func.func @between
// CHECK: affine.for %{{.*}} = 0 to 2 {
// CHECK: arith.constant false
// CHECK: arith.constant true
// CHECK: affine.for %{{.*}} = 2 to 901 {
// CHECK: arith.constant true
// CHECK: arith.constant true
// CHECK: affine.for %{{.*}} = 901 to 1000 {
// CHECK: arith.constant true
// CHECK: arith.constant false
// CHECK-NOT: arith.cmpi
// CHECK: func.return
func.func @between(%out: memref<1000xi1>) {
  %first = arith.constant 2 : index
  %last = arith.constant 900 : index
  affine.for %i = 0 to 1000 {
    %0 = arith.cmpi sge, %i, %first : index
    %1 = arith.cmpi sle, %i, %last : index
    %2 = arith.andi %0, %1 : i1
    affine.store %2, %out[%i] : memref<1000xi1>
  }
  return
}

// The parts pass on what a loop carries; a comparison that never changes is a constant.

// CHECK-LABEL: func.func @carried
// CHECK: %[[FIRST:.*]] = affine.for %{{.*}} = 0 to 5 iter_args
// CHECK: %[[ALL:.*]] = affine.for %{{.*}} = 5 to 1000 iter_args(%{{.*}} = %[[FIRST]])
// CHECK: affine.store %[[ALL]]
func.func @carried(%out: memref<i1>) {
  %five = arith.constant 5 : index
  %never = arith.constant -1 : index
  %false = arith.constant false
  %all = affine.for %i = 0 to 1000 iter_args(%s = %false) -> (i1) {
    %0 = arith.cmpi slt, %i, %five : index
    %1 = arith.cmpi sgt, %i, %never : index
    %2 = arith.xori %0, %1 : i1
    %3 = arith.xori %2, %s : i1
    affine.yield %3 : i1
  }
  affine.store %all, %out[] : memref<i1>
  return
}

// A short loop, and one that compares other values, remain.

// CHECK-LABEL: func.func @others
// CHECK: affine.for %{{.*}} = 0 to 100
// CHECK: arith.cmpi
// CHECK: affine.for %{{.*}} = 0 to 1000
// CHECK: arith.cmpi
// CHECK: func.return
func.func @others(%out: memref<1000xi1>, %n: index) {
  %first = arith.constant 2 : index
  affine.for %i = 0 to 100 {
    %0 = arith.cmpi sge, %i, %first : index
    affine.store %0, %out[%i] : memref<1000xi1>
  }
  affine.for %i = 0 to 1000 {
    %0 = arith.cmpi sge, %i, %n : index
    affine.store %0, %out[%i] : memref<1000xi1>
  }
  return
}
