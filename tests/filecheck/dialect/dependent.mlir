// RUN: rise-opt %s | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | rise-opt | filecheck %s
// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s --check-prefix=LOOPS

// Functions of sizes and of data types; lowering applies them.

// CHECK-LABEL: func.func @swap
// CHECK:         [[ANY:%\w+]] = rise.depLambda (t : data) -> !rise.depfun<n : nat, fun<array<n, var<"t">> -> array<n, var<"t">>>> {
// CHECK-NEXT:      [[SIZED:%\w+]] = rise.depLambda (m : nat) -> !rise.fun<array<m, var<"t">> -> array<m, var<"t">>> {
// CHECK-NEXT:        {{%\w+}} = rise.reverse #rise.nat<m> #rise.var<"t">
// CHECK:         [[OF:%\w+]] = rise.depApply [[ANY]], #rise.scalar<f32>
// CHECK-NEXT:    {{%\w+}} = rise.depApply [[OF]], #rise.nat<4>

// LOOPS-LABEL: func.func @swap
// LOOPS:         affine.for [[I:%\w+]] = 0 to 4 {
// LOOPS-NEXT:      [[V:%\w+]] = affine.load %in[{{.*}}] : memref<4xf32>
// LOOPS-NEXT:      affine.store [[V]], %out[{{.*}}] : memref<4xf32>

func.func @swap(%out: memref<4xf32>, %in: memref<4xf32>) {
  %x = rise.in %in : !rise.array<4, scalar<f32>>
  %any = rise.depLambda (t : data) -> !rise.depfun<n : nat, fun<array<n, var<"t">> -> array<n, var<"t">>>> {
    %sized = rise.depLambda (m : nat) -> !rise.fun<array<m, var<"t">> -> array<m, var<"t">>> {
      %r = rise.reverse #rise.nat<m> #rise.var<"t">
      rise.return %r : !rise.fun<array<m, var<"t">> -> array<m, var<"t">>>
    }
    rise.return %sized : !rise.depfun<m : nat, fun<array<m, var<"t">> -> array<m, var<"t">>>>
  }
  %of = rise.depApply %any, #rise.scalar<f32>
  %four = rise.depApply %of, #rise.nat<4>
  %y = rise.apply %four, %x
  rise.out %out <- %y
  return
}
