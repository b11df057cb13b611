// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine}' | filecheck %s --check-prefix=IMPERATIVE
// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s --check-prefix=LOOPS

// Sizes come from the shapes of buffers and stand at the start of the function; affine maps use them as dimensions.

func.func @padded(%out: memref<?xf32>, %in: memref<?xf32>) {
  %x = rise.in %in : !rise.array<n * 2, scalar<f32>>
  %drop = rise.drop #rise.nat<1> #rise.nat<n * 2 - 1> #rise.scalar<f32>
  %y = rise.apply %drop, %x
  %reverse = rise.reverse #rise.nat<n * 2 - 1> #rise.scalar<f32>
  %z = rise.apply %reverse, %y
  rise.out %out <- %z
  return
}

// IMPERATIVE-LABEL: func.func @padded
// IMPERATIVE:         [[D:%\w+]] = memref.dim %in
// IMPERATIVE:         [[H:%\w+]] = arith.divui [[D]]
// IMPERATIVE:         %n = rise.codegen.size "n" = [[H]]
// IMPERATIVE:         affine.for

// LOOPS-LABEL: func.func @padded
// LOOPS-NOT:     rise.
// LOOPS:         affine.for [[I:%\w+]] = 0 to
// LOOPS-NEXT:      [[V:%\w+]] = affine.load %in[[[I]] + 1] : memref<?xf32>
// LOOPS-NEXT:      affine.store [[V]], %out[[[I]] * -1 + %n * 2 + -2] : memref<?xf32>
