// RUN: rise import %s --fallback linalg 2>&1 | filecheck %s

// What becomes patterns is programs, beside which MLIR makes loops of the rest.
// CHECK: stablehlo.dot_general  patterns, unit 0
// CHECK-NEXT: stablehlo.complex  patterns, unit 0
// CHECK-NEXT: stablehlo.rsqrt  linalg, unit 1
// CHECK-NEXT: stablehlo.imag  patterns, unit 2
// CHECK-NEXT: stablehlo.add  patterns, unit 2
// CHECK-NEXT: patterns, unit 0: 2 ops
// CHECK-NEXT: linalg, unit 1: 1 op
// CHECK-NEXT: patterns, unit 2: 2 ops
// CHECK: // unit 0: patterns
// CHECK-NEXT: fun((x : 2.3.f32, arg1 : 3.2.f32),
// CHECK: reduce(add, 0.0)
// CHECK: // unit 1: linalg
// CHECK: func.func @unit(%arg0: memref<2x2xf32>, %arg1: memref<2x2xf32>
// CHECK: linalg.generic
// CHECK: complex.rsqrt
// CHECK: // unit 2: patterns
// CHECK: + snd(
func.func @main(%x: tensor<2x3xf32> loc("x"), %y: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.complex %0, %0 : tensor<2x2xcomplex<f32>>
  %2 = stablehlo.rsqrt %1 : tensor<2x2xcomplex<f32>>
  %3 = stablehlo.imag %2 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %4 = stablehlo.add %3, %0 : tensor<2x2xf32>
  return %4 : tensor<2x2xf32>
}
