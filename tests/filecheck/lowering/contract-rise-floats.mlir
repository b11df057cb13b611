// RUN: rise-opt %s -p contract-rise-floats | filecheck %s

// The product of the map and the sum of the fold become one fma; the map is gone.
// CHECK-LABEL: func.func @dot
// CHECK-NOT: rise.map
// CHECK: rise.reduce
// CHECK: math.fma
// CHECK-NOT: arith.addf
// CHECK: rise.out
func.func @dot(%out : memref<f32>, %a : memref<4xf32>, %b : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<4, scalar<f32>>
    %y = rise.in %b : !rise.array<4, scalar<f32>>
    %zip = rise.zip #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %xy = rise.apply %zip, %x, %y
    %mult = rise.lambda (%p : !rise.tuple<scalar<f32>, scalar<f32>>) -> !rise.scalar<f32> {
      %fst = rise.fst #rise.scalar<f32> #rise.scalar<f32>
      %snd = rise.snd #rise.scalar<f32> #rise.scalar<f32>
      %l = rise.apply %fst, %p
      %r = rise.apply %snd, %p
      %m = rise.embed(%l, %r) {
        %t = arith.mulf %l, %r : f32
        rise.return %t : f32
      } : !rise.scalar<f32>
      rise.return %m : !rise.scalar<f32>
    }
    %map = rise.map #rise.nat<4> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
    %products = rise.apply %map, %mult, %xy
    %add = rise.lambda (%e : !rise.scalar<f32>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %s = rise.embed(%e, %acc) {
        %t = arith.addf %e, %acc : f32
        rise.return %t : f32
      } : !rise.scalar<f32>
      rise.return %s : !rise.scalar<f32>
    }
    %zero = rise.literal #rise.lit<0.0>
    %reduce = rise.reduce #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %sum = rise.apply %reduce, %add, %zero, %products
    rise.out %out <- %sum
    rise.return
  }
  func.return
}

// Integers and half precision are left alone.
// CHECK-LABEL: func.func @half
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: math.fma
func.func @half(%out : memref<f16>, %a : memref<f16>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.scalar<f16>
    %y = rise.embed(%x) {
      %m = arith.mulf %x, %x : f16
      %s = arith.addf %m, %x : f16
      rise.return %s : f16
    } : !rise.scalar<f16>
    rise.out %out <- %y
    rise.return
  }
  func.return
}
