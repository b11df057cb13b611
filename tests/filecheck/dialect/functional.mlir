// RUN: rise-opt %s | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK:      func.func @functional(%out: memref<f32>, %a: memref<4xf32>, %b: memref<1xf32>) {
func.func @functional(%out : memref<f32>, %a : memref<4xf32>, %b : memref<1xf32>) {
  // CHECK-NEXT:   rise.lowering_unit {
  // GENERIC:      "rise.lowering_unit"() ({
  rise.lowering_unit {
    // CHECK-NEXT:     %xs = rise.in %a : !rise.array<4, scalar<f32>>
    // GENERIC-NEXT:     %xs = "rise.in"(%a) : (memref<4xf32>) -> !rise.array<4, scalar<f32>>
    %xs = rise.in %a : !rise.array<4, scalar<f32>>
    // CHECK-NEXT:     %y = rise.in %b : !rise.scalar<f32>
    %y = rise.in %b : !rise.scalar<f32>
    // CHECK-NEXT:     %zero = rise.literal #rise.lit<0.000000e+00>
    // GENERIC:          %zero = "rise.literal"() <{value = #rise.lit<0.000000e+00>}> : () -> !rise.scalar<f32>
    %zero = rise.literal #lit<0.0>
    // CHECK-NEXT:     %f = rise.lambda (%x : !rise.scalar<f32>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
    // GENERIC-NEXT:     %f = "rise.lambda"() ({
    // GENERIC-NEXT:     ^bb0(%x: !rise.scalar<f32>, %acc: !rise.scalar<f32>):
    %f = rise.lambda (%x, %acc) : !rise.fun<scalar<f32> -> func<scalar<f32> -> scalar<f32>>> {
      // CHECK-NEXT:       %r = rise.embed(%x, %acc) {
      // CHECK-NEXT:         %{{.*}} = arith.addf %x, %acc : f32
      // CHECK-NEXT:         rise.return %{{.*}} : f32
      // CHECK-NEXT:       } : !rise.scalar<f32>
      %r = rise.embed(%x, %acc) {
        %r = arith.addf %x, %acc : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      // CHECK-NEXT:       rise.return %r : !rise.scalar<f32>
      // CHECK-NEXT:     }
      rise.return %r : !rise.scalar<f32>
    }
    // CHECK-NEXT:     %reduce = rise.reduceSeq {to = "affine"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    // GENERIC:          %reduce = "rise.reduceSeq"() <{n = #rise.nat<4>, s = !rise.scalar<f32>, t = !rise.scalar<f32>, to = "affine"}>
    %reduce = rise.reduceSeq {to = "affine"} #nat<4> #scalar<f32> #scalar<f32>
    // CHECK-NEXT:     %partial = rise.apply %reduce, %f, %zero
    %partial = rise.apply %reduce, %f, %zero : !rise.fun<array<4, scalar<f32>> -> scalar<f32>>
    // CHECK-NEXT:     %sum = rise.apply %partial, %xs
    // GENERIC:          %sum = "rise.apply"(%partial, %xs) : (!rise.fun<array<4, scalar<f32>> -> scalar<f32>>, !rise.array<4, scalar<f32>>) -> !rise.scalar<f32>
    %sum = rise.apply %partial, %xs
    // CHECK-NEXT:     rise.out %out <- %sum
    // GENERIC-NEXT:     "rise.out"(%out, %sum) : (memref<f32>, !rise.scalar<f32>) -> ()
    rise.out %out <- %sum
    // CHECK-NEXT:     rise.return
    // CHECK-NEXT:   }
    // GENERIC-NEXT:     "rise.return"() : () -> ()
    rise.return
  }
  func.return
}
