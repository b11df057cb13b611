// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// What is read two elements later is asked for, even behind the end: a prefetch never fails.
// CHECK-LABEL: func.func @fetched
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 8 {
// CHECK:          memref.prefetch %x[{{%\w+}}], read, locality<3>, data : memref<8xf32>
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %x[[[Vi]]] : memref<8xf32>
// CHECK-NEXT:     affine.store [[V0]], %out[[[Vi]]] : memref<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @fetched(%out: memref<8xf32>, %x: memref<8xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<8, scalar<f32>>
    %prefetch = rise.prefetch #rise.nat<2> #rise.nat<8> #rise.scalar<f32>
    %1 = rise.apply %prefetch, %0
    %fun = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      rise.return %e : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<8> #rise.scalar<f32> #rise.scalar<f32>
    %2 = rise.apply %map, %fun, %1
    rise.out %out <- %2
    rise.return
  }
  func.return
}
