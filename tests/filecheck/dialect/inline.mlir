// RUN: rise-opt %s -p inline | filecheck %s
// RUN: rise-opt %s -p inline,dce,symbol-dce | filecheck %s --check-prefix=CLEAN

// A function is called by its symbol, a lambda by `rise.apply`; both are gone from where they are
// called.
// CHECK-LABEL: func.func @lambdas
// CHECK:         %twice = rise.lambda ([[X:%\w+]] : !rise.scalar<f32>)
// CHECK-NEXT:      [[Y:%\w+]] = rise.embed([[X]]) {
// CHECK-NEXT:        [[R:%\w+]] = arith.addf [[X]], [[X]] : f32
// CHECK-NEXT:        rise.return [[R]] : f32
// CHECK-NEXT:      } : !rise.scalar<f32>
// CHECK-NEXT:      [[Z:%\w+]] = rise.embed([[Y]]) {
// CHECK-NEXT:        [[R]] = arith.addf [[Y]], [[Y]] : f32
// CHECK-NEXT:        rise.return [[R]] : f32
// CHECK-NEXT:      } : !rise.scalar<f32>
// CHECK-NEXT:      rise.return [[Z]] : !rise.scalar<f32>
// CLEAN-NOT:   @double
func.func private @double(%a : f32) -> f32 {
  %b = arith.addf %a, %a : f32
  return %b : f32
}
func.func @lambdas(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %r = func.call @double(%e) : (f32) -> f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %twice = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %y = rise.apply %f, %e
      %z = rise.apply %f, %y
      rise.return %z : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y = rise.apply %map, %twice, %x
    rise.out %out <- %y
  }
  return
}

// A function with a program in it.
// CHECK-LABEL: func.func @caller
// CHECK-NEXT:    rise.lowering_unit {
// CHECK-NEXT:      [[X:%\w+]] = rise.in %b : !rise.array<4, scalar<f32>>
// CHECK-NEXT:      rise.out %a <- [[X]]
// CHECK-NEXT:      rise.return
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CLEAN-NOT:   @copy
func.func private @copy(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    rise.out %out <- %x
  }
  return
}
func.func @caller(%a : memref<4xf32>, %b : memref<4xf32>) {
  func.call @copy(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// The size N of one function is not the N of another, so this one is called still.
// CHECK-LABEL: func.func @openCaller
// CHECK-NEXT:    func.call @openCopy
func.func private @openCopy(%out : memref<?xf32>, %in : memref<?xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<N, scalar<f32>>
    rise.out %out <- %x
  }
  return
}
func.func @openCaller(%a : memref<?xf32>, %b : memref<?xf32>) {
  func.call @openCopy(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}

// Nor does it mean the same below a binder of that name.
// CHECK-LABEL: func.func @bound
// CHECK:         rise.depLambda (N : nat)
// CHECK-NEXT:      rise.lambda
// CHECK-NEXT:        rise.apply
func.func @bound(%out : memref<i32>) {
  %zero = rise.literal #rise.lit<0, scalar<i32>>
  %f = rise.lambda (%a : !rise.scalar<i32>) -> !rise.scalar<i32> {
    %g = rise.lambda (%b : !rise.scalar<i32>) -> !rise.scalar<i32> {
      rise.return %a : !rise.scalar<i32>
    }
    %iterate = rise.iterate #rise.nat<N> #rise.scalar<i32>
    %r = rise.apply %iterate, %g, %a
    rise.return %r : !rise.scalar<i32>
  }
  %sized = rise.depLambda (N : nat) -> !rise.fun<scalar<i32> -> scalar<i32>> {
    %h = rise.lambda (%a : !rise.scalar<i32>) -> !rise.scalar<i32> {
      %r = rise.apply %f, %a
      rise.return %r : !rise.scalar<i32>
    }
    rise.return %h : !rise.fun<scalar<i32> -> scalar<i32>>
  }
  %four = rise.depApply %sized, #rise.nat<4>
  %y = rise.apply %four, %zero
  rise.out %out <- %y
  return
}

// Functions that call themselves are called still.
// CHECK-LABEL: func.func @even
// CHECK-NEXT:    func.call @even
// CHECK-LABEL: func.func @odd
// CHECK-NEXT:    func.call @even
func.func @even() {
  func.call @odd() : () -> ()
  return
}
func.func @odd() {
  func.call @even() : () -> ()
  return
}
