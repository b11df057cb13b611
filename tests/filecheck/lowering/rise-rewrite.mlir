// RUN: rise-opt %s -p rise-rewrite | filecheck %s --check-prefix=OWN
// RUN: rise-opt %s -p 'rise-rewrite{strategy="(split_join(2) | id) @ outermost(\"map\") >> fuse()"}' | filecheck %s --check-prefix=GIVEN
// RUN: rise-opt %s -p "rise-rewrite{strategy=\"split_join(2) @ outermost('map') >> fuse()\"}" | filecheck %s --check-prefix=GIVEN
// RUN: rise-opt %s -p 'rise-rewrite{strategy="%S/Inputs/loops.strategy" float=strict}' | filecheck %s --check-prefix=FILE

// Its own strategy is used, and gone; the product and the sum of the lambdas are contracted first.
// OWN-LABEL: func.func @own
// OWN-NOT: rise.strategy
// OWN: rise.mapSeq
// OWN: math.fma
// OWN-NOT: rise.map #
// OWN: rise.out

// GIVEN-LABEL: func.func @own
// GIVEN: rise.split
// GIVEN: rise.out

// FILE-LABEL: func.func @own
// FILE-NOT: math.fma
// FILE: rise.mapSeq
// FILE: rise.out
func.func @own(%out : memref<4xf32>, %a : memref<4xf32>) attributes {"rise.strategy" = "fuse() >> top_down(map_as_loop)"} {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<4, scalar<f32>>
    %twice = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %t = arith.mulf %e, %e : f32
        %s = arith.addf %t, %e : f32
        rise.return %s : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.map #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y = rise.apply %map, %twice, %x
    rise.out %out <- %y
    rise.return
  }
  func.return
}

// Without a strategy of its own, a function stays as it is; sizes may be open.
// OWN-LABEL: func.func @other
// OWN: rise.map
// OWN-NOT: rise.mapSeq
// OWN: rise.out

// GIVEN-LABEL: func.func @other
// GIVEN: rise.split
// GIVEN: rise.out
func.func @other(%out : memref<?xi32>, %a : memref<?xi32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<N * 2, scalar<i32>>
    %negate = rise.lambda (%e : !rise.scalar<i32>) -> !rise.scalar<i32> {
      %r = rise.embed(%e) {
        %zero = arith.constant 0 : i32
        %s = arith.subi %zero, %e : i32
        rise.return %s : i32
      } : !rise.scalar<i32>
      rise.return %r : !rise.scalar<i32>
    }
    %map = rise.map #rise.nat<N * 2> #rise.scalar<i32> #rise.scalar<i32>
    %y = rise.apply %map, %negate, %x
    rise.out %out <- %y
    rise.return
  }
  func.return
}
