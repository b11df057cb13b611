// RUN: rise-opt %s -p dce,dce | filecheck %s

// What is not stored is not computed; what only a dead lambda uses goes in a second run.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    rise.lowering_unit {
// CHECK-NEXT:      [[X:%\w+]] = rise.in %in : !rise.array<4, scalar<f32>>
// CHECK-NEXT:      rise.out %out <- [[X]]
// CHECK-NEXT:      rise.return
// CHECK-NEXT:    }
func.func @unused(%out : memref<4xf32>, %in : memref<4xf32>, %other : memref<f32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    %y = rise.in %other : !rise.scalar<f32>
    %one = rise.literal #rise.lit<1.0>
    %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e, %y, %one) {
        %p = arith.addf %e, %y : f32
        %r = arith.mulf %p, %one : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %z = rise.apply %map, %f, %x
    rise.out %out <- %x
  }
  return
}

// A program that stores nothing goes as a whole, and so does what was made for it.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    func.return
func.func @nothing(%in : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    %reverse = rise.reverse #rise.nat<4> #rise.scalar<f32>
    %y = rise.apply %reverse, %x
  }
  %size = rise.depLambda (n : nat) -> !rise.fun<array<n, scalar<f32>> -> array<n, scalar<f32>>> {
    %r = rise.reverse #rise.nat<n> #rise.scalar<f32>
    rise.return %r : !rise.fun<array<n, scalar<f32>> -> array<n, scalar<f32>>>
  }
  %four = rise.depApply %size, #rise.nat<4>
  return
}

// An embed is as dead as the ops in it.
// CHECK-LABEL: func.func @embedded
// CHECK-NEXT:    rise.embed() {
// CHECK-NEXT:      func.call @count
// CHECK-NOT:     arith.negf
func.func private @count() -> f32
func.func @embedded() {
  %x = rise.embed() {
    %r = func.call @count() : () -> f32
    rise.return %r : f32
  } : !rise.scalar<f32>
  %y = rise.embed(%x) {
    %r = arith.negf %x : f32
    rise.return %r : f32
  } : !rise.scalar<f32>
  return
}
