// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// The length of an array is in its type: a constant where it is known, else what the shape of the buffer says.

func.func @known(%out: memref<index>, %in: memref<4xf32>) {
  %x = rise.in %in : !rise.array<4, scalar<f32>>
  %sizeOf = rise.sizeOf #rise.nat<4> #rise.scalar<f32>
  %n = rise.apply %sizeOf, %x
  rise.out %out <- %n
  return
}

// CHECK-LABEL: func.func @known
// CHECK:         [[N:%\w+]] = arith.constant 4 : index
// CHECK-NOT:     load
// CHECK:         affine.store [[N]], %out[] : memref<index>

func.func @open(%out: memref<index>, %in: memref<?xf32>) {
  %x = rise.in %in : !rise.array<n * 2, scalar<f32>>
  %sizeOf = rise.sizeOf #rise.nat<n * 2> #rise.scalar<f32>
  %length = rise.apply %sizeOf, %x
  rise.out %out <- %length
  return
}

// CHECK-LABEL: func.func @open
// CHECK:         [[D:%\w+]] = memref.dim %in
// CHECK-NOT:     load
// CHECK:         affine.store {{%\w+}}, %out[] : memref<index>
