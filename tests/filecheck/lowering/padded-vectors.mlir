// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// A vector of a padded array is loaded if no lane is padding, and otherwise its lanes are gathered.
builtin.module {
  func.func @main(%out: memref<8xf32>, %x: memref<8xf32>) {
    rise.lowering_unit {
      %0 = rise.in %x : !rise.array<8, scalar<f32>>
      %asScalar = rise.asScalar #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
      %map = rise.map #rise.nat<2> #rise.vector<4, scalar<f32>> #rise.vector<4, scalar<f32>>
      %fun = rise.lambda (%v : !rise.vector<4, scalar<f32>>) -> !rise.vector<4, scalar<f32>> {
        %1 = rise.embed(%v) {
          %2 = arith.mulf %v, %v : vector<4xf32>
          rise.return %2 : vector<4xf32>
        } : !rise.vector<4, scalar<f32>>
        rise.return %1 : !rise.vector<4, scalar<f32>>
      }
      %asVector = rise.asVector #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
      %take = rise.take #rise.nat<8> #rise.nat<1> #rise.scalar<f32>
      %pad = rise.pad #rise.nat<8> #rise.nat<1> #rise.nat<0> #rise.scalar<f32>
      %2 = rise.apply %pad, %0
      %3 = rise.apply %take, %2
      %4 = rise.apply %asVector, %3
      %5 = rise.apply %map, %fun, %4
      %6 = rise.apply %asScalar, %5
      rise.out %out <- %6
      rise.return
    }
    func.return
  }
}

// CHECK:      affine.for [[I:%\w+]] = 0 to 2 {
// CHECK-NEXT:   [[V:%\w+]] = "affine.if"([[I]])
// CHECK-NEXT:     [[L:%\w+]] = affine.vector_load %x[[[I]] * 4 + -1] : memref<8xf32>, vector<4xf32>
// CHECK-NEXT:     affine.yield [[L]] : vector<4xf32>
// CHECK:          [[LANES:%\w+]] = arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
// CHECK:          [[CLAMPED:%\w+]] = arith.maxsi
// CHECK:          [[G:%\w+]] = "vector.gather"(%x, %{{\w+}}, [[CLAMPED]], %{{\w+}}, %{{\w+}})
// CHECK-NEXT:     affine.yield [[G]] : vector<4xf32>
// CHECK:        [[R:%\w+]] = arith.mulf [[V]], [[V]] : vector<4xf32>
// CHECK-NEXT:   affine.vector_store [[R]], %out[[[I]] * 4] : memref<8xf32>, vector<4xf32>
