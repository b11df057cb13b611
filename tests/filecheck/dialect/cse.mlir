// RUN: rise-opt %s -p cse | filecheck %s

// What is written twice is computed once: inputs, patterns, literals, lambdas and applications.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    rise.lowering_unit {
// CHECK-NEXT:      [[X:%\w+]] = rise.in %in : !rise.array<4, scalar<f32>>
// CHECK-NEXT:      [[F:%\w+]] = rise.lambda
// CHECK:           [[MAP:%\w+]] = rise.mapSeq #rise.nat<4>
// CHECK-NEXT:      [[Y:%\w+]] = rise.apply [[MAP]], [[F]], [[X]]
// CHECK-NEXT:      rise.out %a <- [[Y]]
// CHECK-NEXT:      rise.out %b <- [[Y]]
// CHECK-NEXT:      rise.return
func.func @shared(%a : memref<4xf32>, %b : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %x0 = rise.in %in : !rise.array<4, scalar<f32>>
    %f0 = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %r = arith.negf %e : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map0 = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y0 = rise.apply %map0, %f0, %x0
    %x1 = rise.in %in : !rise.array<4, scalar<f32>>
    %f1 = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %r = arith.negf %e : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map1 = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y1 = rise.apply %map1, %f1, %x1
    rise.out %a <- %y0
    rise.out %b <- %y1
  }
  return
}

// Programs store: the same one twice is not one.
// CHECK-LABEL: func.func @twice
// CHECK:         rise.lowering_unit {
// CHECK:         rise.lowering_unit {
func.func @twice(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    rise.out %out <- %x
  }
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    rise.out %out <- %x
  }
  return
}

// Nor is what is loaded before a program what is loaded behind it.
// CHECK-LABEL: func.func @loads
// CHECK-COUNT-2: memref.load
func.func @loads(%out : memref<f32>, %in : memref<f32>) -> (f32, f32) {
  %before = memref.load %out[] : memref<f32>
  rise.lowering_unit {
    %x = rise.in %in : !rise.scalar<f32>
    rise.out %out <- %x
  }
  %after = memref.load %out[] : memref<f32>
  return %before, %after : f32, f32
}

// An access path is an address until it comes to a scalar, which is read where it stands.
// CHECK-LABEL: func.func @paths
// CHECK:         [[A:%\w+]] = rise.codegen.cast %m
// CHECK-NEXT:    [[B:%\w+]] = rise.codegen.cast %n
// CHECK-NEXT:    [[T:%\w+]] = rise.codegen.idx [[B]], %i
// CHECK-NEXT:    [[X:%\w+]] = rise.codegen.idx [[A]], %i
// CHECK-NEXT:    rise.codegen.assign [[X]], [[T]]
// CHECK-NEXT:    [[Y:%\w+]] = rise.codegen.idx [[A]], %i
// CHECK-NEXT:    rise.codegen.assign [[Y]], [[T]]
func.func @paths(%m : memref<4xf32>, %n : memref<4xf32>, %i : index) {
  %a = rise.codegen.cast %m : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %b = rise.codegen.cast %n : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %t = rise.codegen.idx %b, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
  %x = rise.codegen.idx %a, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
  rise.codegen.assign %x, %t : !rise.scalar<f32>, !rise.scalar<f32>
  %again = rise.codegen.cast %m : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %y = rise.codegen.idx %again, %i : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
  rise.codegen.assign %y, %t : !rise.scalar<f32>, !rise.scalar<f32>
  return
}
