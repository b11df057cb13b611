// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// An accumulator with arrays is made in its place and kept for the next one.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<4xi64>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V1:%\w+]] = affine.load %s[[[Vi]]] : memref<4xi64>
// CHECK-NEXT:     affine.store [[V1]], [[V0]][[[Vi]]] : memref<4xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix1:%\w+]] = 0 to 3 {
// CHECK-NEXT:     affine.for [[Vix2:%\w+]] = 0 to 4 {
// CHECK-NEXT:       [[V2:%\w+]] = affine.load %m[[[Vix1]], [[Vix2]]] : memref<3x4xi64>
// CHECK-NEXT:       [[V3:%\w+]] = affine.load [[V0]][[[Vix2]]] : memref<4xi64>
// CHECK-NEXT:       [[V4:%\w+]] = arith.addi [[V2]], [[V3]] : i64
// CHECK-NEXT:       affine.store [[V4]], %out[[[Vix1]], [[Vix2]]] : memref<3x4xi64>
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.for [[Vix3:%\w+]] = 0 to 4 {
// CHECK-NEXT:       [[V5:%\w+]] = affine.load %out[[[Vix1]], [[Vix3]]] : memref<3x4xi64>
// CHECK-NEXT:       affine.store [[V5]], [[V0]][[[Vix3]]] : memref<4xi64>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @rows(%out: memref<3x4xi64>, %m: memref<3x4xi64>, %s: memref<4xi64>) {
  rise.lowering_unit {
    %0 = rise.in %m : !rise.array<3, array<4, scalar<i64>>>
    %1 = rise.in %s : !rise.array<4, scalar<i64>>
    %scan = rise.scan #rise.nat<3> #rise.array<4, scalar<i64>> #rise.array<4, scalar<i64>>
    %fun = rise.lambda (%row : !rise.array<4, scalar<i64>>, %last : !rise.array<4, scalar<i64>>) -> !rise.array<4, scalar<i64>> {
      %map = rise.map #rise.nat<4> #rise.tuple<scalar<i64>, scalar<i64>> #rise.scalar<i64>
      %fun_1 = rise.lambda (%x0 : !rise.tuple<scalar<i64>, scalar<i64>>) -> !rise.scalar<i64> {
        %fst = rise.fst #rise.scalar<i64> #rise.scalar<i64>
        %2 = rise.apply %fst, %x0
        %snd = rise.snd #rise.scalar<i64> #rise.scalar<i64>
        %3 = rise.apply %snd, %x0
        %4 = rise.embed(%2, %3) {
          %5 = arith.addi %2, %3 : i64
          rise.return %5 : i64
        } : !rise.scalar<i64>
        rise.return %4 : !rise.scalar<i64>
      }
      %zip = rise.zip #rise.nat<4> #rise.scalar<i64> #rise.scalar<i64>
      %5 = rise.apply %zip, %row, %last
      %6 = rise.apply %map, %fun_1, %5
      rise.return %6 : !rise.array<4, scalar<i64>>
    }
    %7 = rise.apply %scan, %fun, %1, %0
    rise.out %out <- %7
    rise.return
  }
  func.return
}
