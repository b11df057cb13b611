// RUN: rise-opt %s -p convert-stablehlo-to-rise | filecheck %s
// RUN: rise-opt %s -p convert-stablehlo-to-rise,convert-rise-to-imperative,resolve-rise-access | filecheck %s --check-prefix=LOOPS

// Infinity stays infinity, and what is called is part of its caller.
// CHECK: builtin.module attributes {rise.float = "relaxed"} {
// CHECK-NEXT: func.func @main(%out: memref<2xf32>, %x: memref<2x3xf32>) {
// CHECK: rise.in %x : !rise.array<2, array<3, scalar<f32>>>
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: rise.literal #rise.lit<0xff800000>
// CHECK: rise.out %out <-
// CHECK-NOT: func.func

// LOOPS: arith.constant 0xff800000 : f32
// LOOPS: arith.maximumf
// LOOPS: arith.addf
// LOOPS: memref.store
func.func @main(%x: tensor<2x3xf32> loc("x")) -> tensor<2xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = func.call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
