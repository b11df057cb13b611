// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// Scalars are carried in registers.
// CHECK-LABEL: func.func @scalars
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %x[[[Vi]]] : memref<4xi64>
// CHECK-NEXT:     [[V1:%\w+]] = scf.while ([[V2:%\w+]] = [[V0]]) : (i64) -> i64 {
// CHECK-NEXT:       [[V3:%\w+]] = arith.constant 100 : i64
// CHECK-NEXT:       [[V4:%\w+]] = arith.cmpi slt, [[V2]], [[V3]] : i64
// CHECK-NEXT:       scf.condition([[V4]]) [[V2]] : i64
// CHECK-NEXT:     } do {
// CHECK-NEXT:     ^bb0([[V5:%\w+]]: i64):
// CHECK-NEXT:       [[V6:%\w+]] = arith.muli [[V5]], [[V5]] : i64
// CHECK-NEXT:       [[V7:%\w+]] = arith.constant 1 : i64
// CHECK-NEXT:       [[V8:%\w+]] = arith.addi [[V6]], [[V7]] : i64
// CHECK-NEXT:       scf.yield [[V8]] : i64
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.store [[V1]], %out[[[Vi]]] : memref<4xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @scalars(%out: memref<4xi64>, %x: memref<4xi64>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<4, scalar<i64>>
    %map = rise.map #rise.nat<4> #rise.scalar<i64> #rise.scalar<i64>
    %fun = rise.lambda (%x0 : !rise.scalar<i64>) -> !rise.scalar<i64> {
      %while = rise.while #rise.scalar<i64>
      %fun_1 = rise.lambda (%v : !rise.scalar<i64>) -> !rise.scalar<i1> {
        %1 = rise.embed(%v) {
          %2 = arith.constant 100 : i64
          %3 = arith.cmpi slt, %v, %2 : i64
          rise.return %3 : i1
        } : !rise.scalar<i1>
        rise.return %1 : !rise.scalar<i1>
      }
      %fun_2 = rise.lambda (%v_1 : !rise.scalar<i64>) -> !rise.scalar<i64> {
        %2 = rise.embed(%v_1) {
          %3 = arith.muli %v_1, %v_1 : i64
          %4 = arith.constant 1 : i64
          %5 = arith.addi %3, %4 : i64
          rise.return %5 : i64
        } : !rise.scalar<i64>
        rise.return %2 : !rise.scalar<i64>
      }
      %3 = rise.apply %while, %fun_1, %fun_2, %x0
      rise.return %3 : !rise.scalar<i64>
    }
    %4 = rise.apply %map, %fun, %0
    rise.out %out <- %4
    rise.return
  }
  func.return
}

// A value with arrays lives in two buffers that take turns.
// CHECK-LABEL: func.func @arrays
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<4xi64>
// CHECK-NEXT:   [[V1:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<4xi64>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V2:%\w+]] = affine.load %x[[[Vi]]] : memref<4xi64>
// CHECK-NEXT:     affine.store [[V2]], [[V1]][[[Vi]]] : memref<4xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V3:%\w+]], [[V4:%\w+]] = scf.while ([[V5:%\w+]] = [[V1]], [[V6:%\w+]] = [[V0]]) : (memref<4xi64>, memref<4xi64>) -> (memref<4xi64>, memref<4xi64>) {
// CHECK-NEXT:     [[V7:%\w+]] = arith.constant 0 : i64
// CHECK-NEXT:     [[V8:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 4 iter_args([[V9:%\w+]] = [[V7]]) -> (i64) {
// CHECK-NEXT:       [[V10:%\w+]] = affine.load [[V5]][[[Vix1]]] : memref<4xi64>
// CHECK-NEXT:       [[V11:%\w+]] = arith.addi [[V10]], [[V9]] : i64
// CHECK-NEXT:       affine.yield [[V11]] : i64
// CHECK-NEXT:     }
// CHECK-NEXT:     [[V12:%\w+]] = arith.constant 100 : i64
// CHECK-NEXT:     [[V13:%\w+]] = arith.cmpi slt, [[V8]], [[V12]] : i64
// CHECK-NEXT:     scf.condition([[V13]]) [[V5]], [[V6]] : memref<4xi64>, memref<4xi64>
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0([[V14:%\w+]]: memref<4xi64>, [[V15:%\w+]]: memref<4xi64>):
// CHECK-NEXT:     affine.for [[Vix2:%\w+]] = 0 to 4 {
// CHECK-NEXT:       [[V16:%\w+]] = affine.load [[V14]][[[Vix2]]] : memref<4xi64>
// CHECK-NEXT:       [[V17:%\w+]] = arith.constant 2 : i64
// CHECK-NEXT:       [[V18:%\w+]] = arith.muli [[V16]], [[V17]] : i64
// CHECK-NEXT:       affine.store [[V18]], [[V15]][[[Vix2]] * -1 + 3] : memref<4xi64>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield [[V15]], [[V14]] : memref<4xi64>, memref<4xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix3:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V19:%\w+]] = affine.load [[V3]][[[Vix3]]] : memref<4xi64>
// CHECK-NEXT:     affine.store [[V19]], %out[[[Vix3]]] : memref<4xi64>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @arrays(%out: memref<4xi64>, %x: memref<4xi64>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<4, scalar<i64>>
    %while = rise.while #rise.array<4, scalar<i64>>
    %fun = rise.lambda (%v : !rise.array<4, scalar<i64>>) -> !rise.scalar<i1> {
      %reduce = rise.reduce #rise.nat<4> #rise.scalar<i64> #rise.scalar<i64>
      %fun_1 = rise.lambda (%x0 : !rise.scalar<i64>, %x1 : !rise.scalar<i64>) -> !rise.scalar<i64> {
        %1 = rise.embed(%x0, %x1) {
          %2 = arith.addi %x0, %x1 : i64
          rise.return %2 : i64
        } : !rise.scalar<i64>
        rise.return %1 : !rise.scalar<i64>
      }
      %2 = rise.literal #rise.lit<0, scalar<i64>>
      %3 = rise.apply %reduce, %fun_1, %2, %v
      %4 = rise.embed(%3) {
        %5 = arith.constant 100 : i64
        %6 = arith.cmpi slt, %3, %5 : i64
        rise.return %6 : i1
      } : !rise.scalar<i1>
      rise.return %4 : !rise.scalar<i1>
    }
    %fun_2 = rise.lambda (%v_1 : !rise.array<4, scalar<i64>>) -> !rise.array<4, scalar<i64>> {
      %reverse = rise.reverse #rise.nat<4> #rise.scalar<i64>
      %map = rise.map #rise.nat<4> #rise.scalar<i64> #rise.scalar<i64>
      %fun_3 = rise.lambda (%a : !rise.scalar<i64>) -> !rise.scalar<i64> {
        %5 = rise.embed(%a) {
          %6 = arith.constant 2 : i64
          %7 = arith.muli %a, %6 : i64
          rise.return %7 : i64
        } : !rise.scalar<i64>
        rise.return %5 : !rise.scalar<i64>
      }
      %6 = rise.apply %map, %fun_3, %v_1
      %7 = rise.apply %reverse, %6
      rise.return %7 : !rise.array<4, scalar<i64>>
    }
    %8 = rise.apply %while, %fun, %fun_2, %0
    rise.out %out <- %8
    rise.return
  }
  func.return
}
