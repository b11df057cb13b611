// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// A failed check is reported to the buffer behind the parameters, and 0 stands for the index.
// CHECK-LABEL: func.func @check
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %x[[[Vi]]] : memref<4xi64>
// CHECK-NEXT:     [[V1:%\w+]] = arith.index_cast [[V0]] : i64 to index
// CHECK-NEXT:     [[V2:%\w+]] = arith.constant 6 : index
// CHECK-NEXT:     [[V3:%\w+]] = arith.cmpi uge, [[V1]], [[V2]] : index
// CHECK-NEXT:     scf.if [[V3]] {
// CHECK-NEXT:       [[V4:%\w+]] = arith.constant 1 : i64
// CHECK-NEXT:       func.call @rise_index_error(%failure, [[V4]], [[V1]], [[V2]]) : (memref<4xi64>, i64, index, index) -> ()
// CHECK-NEXT:     }
// CHECK-NEXT:     [[V5:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     [[V6:%\w+]] = arith.select [[V3]], [[V5]], [[V1]] : index
// CHECK-NEXT:     [[V7:%\w+]] = memref.load %y[[[V6]]] : memref<6xf32>
// CHECK-NEXT:     affine.store [[V7]], %out[[[Vi]]] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @check(%out: memref<4xf32>, %x: memref<4xi64>, %y: memref<6xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<4, scalar<i64>>
    %1 = rise.in %y : !rise.array<6, scalar<f32>>
    %map = rise.map #rise.nat<4> #rise.scalar<i64> #rise.scalar<f32>
    %fun = rise.lambda (%v : !rise.scalar<i64>) -> !rise.scalar<f32> {
      %at = rise.at #rise.nat<6> #rise.scalar<f32>
      %checkIdx = rise.checkIdx #rise.nat<6> #rise.scalar<i64>
      %2 = rise.apply %checkIdx, %v
      %3 = rise.apply %at, %2, %1
      rise.return %3 : !rise.scalar<f32>
    }
    %4 = rise.apply %map, %fun, %0
    rise.out %out <- %4
    rise.return
  }
  func.return
}

// A loop with a check in it ends when one fails.
// CHECK-LABEL: func.func @search
// CHECK-NEXT:   [[V0:%\w+]] = arith.constant 0 : i32
// CHECK-NEXT:   [[V1:%\w+]] = arith.extsi [[V0]] : i32 to i64
// CHECK-NEXT:   [[V2:%\w+]] = scf.while ([[V3:%\w+]] = [[V1]]) : (i64) -> i64 {
// CHECK-NEXT:     [[V4:%\w+]] = arith.index_cast [[V3]] : i64 to index
// CHECK-NEXT:     [[V5:%\w+]] = arith.constant 6 : index
// CHECK-NEXT:     [[V6:%\w+]] = arith.cmpi uge, [[V4]], [[V5]] : index
// CHECK-NEXT:     scf.if [[V6]] {
// CHECK-NEXT:       [[V7:%\w+]] = arith.constant 2 : i64
// CHECK-NEXT:       func.call @rise_index_error(%failure, [[V7]], [[V4]], [[V5]]) : (memref<4xi64>, i64, index, index) -> ()
// CHECK-NEXT:     }
// CHECK-NEXT:     [[V8:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     [[V9:%\w+]] = arith.select [[V6]], [[V8]], [[V4]] : index
// CHECK-NEXT:     [[V10:%\w+]] = memref.load %y[[[V9]]] : memref<6xi64>
// CHECK-NEXT:     [[V11:%\w+]] = arith.constant 7 : i64
// CHECK-NEXT:     [[V12:%\w+]] = arith.cmpi ne, [[V10]], [[V11]] : i64
// CHECK-NEXT:     [[V13:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     [[V14:%\w+]] = memref.load %failure[[[V13]]] : memref<4xi64>
// CHECK-NEXT:     [[V15:%\w+]] = arith.constant 0 : i64
// CHECK-NEXT:     [[V16:%\w+]] = arith.cmpi eq, [[V14]], [[V15]] : i64
// CHECK-NEXT:     [[V17:%\w+]] = arith.andi [[V12]], [[V16]] : i1
// CHECK-NEXT:     scf.condition([[V17]]) [[V3]] : i64
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0([[V18:%\w+]]: i64):
// CHECK-NEXT:     [[V19:%\w+]] = arith.constant 1 : i64
// CHECK-NEXT:     [[V20:%\w+]] = arith.addi [[V18]], [[V19]] : i64
// CHECK-NEXT:     scf.yield [[V20]] : i64
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V2]], %out[] : memref<i64>
// CHECK-NEXT:   func.return

func.func @search(%out: memref<i64>, %y: memref<6xi64>) {
  rise.lowering_unit {
    %0 = rise.in %y : !rise.array<6, scalar<i64>>
    %while = rise.while #rise.scalar<i64>
    %fun = rise.lambda (%i : !rise.scalar<i64>) -> !rise.scalar<i1> {
      %at = rise.at #rise.nat<6> #rise.scalar<i64>
      %checkIdx = rise.checkIdx #rise.nat<6> #rise.scalar<i64>
      %1 = rise.apply %checkIdx, %i
      %2 = rise.apply %at, %1, %0
      %3 = rise.embed(%2) {
        %4 = arith.constant 7 : i64
        %5 = arith.cmpi ne, %2, %4 : i64
        rise.return %5 : i1
      } : !rise.scalar<i1>
      rise.return %3 : !rise.scalar<i1>
    }
    %fun_1 = rise.lambda (%i_1 : !rise.scalar<i64>) -> !rise.scalar<i64> {
      %4 = rise.embed(%i_1) {
        %5 = arith.constant 1 : i64
        %6 = arith.addi %i_1, %5 : i64
        rise.return %6 : i64
      } : !rise.scalar<i64>
      rise.return %4 : !rise.scalar<i64>
    }
    %5 = rise.embed() {
      %6 = arith.constant 0 : i32
      %7 = arith.extsi %6 : i32 to i64
      rise.return %7 : i64
    } : !rise.scalar<i64>
    %6 = rise.apply %while, %fun, %fun_1, %5
    rise.out %out <- %6
    rise.return
  }
  func.return
}
