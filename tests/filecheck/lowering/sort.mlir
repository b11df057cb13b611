// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// Runs of 1, 2, 4, ... elements are merged from one buffer into the other.
// CHECK-LABEL: func.func @numbers
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<5xf32>
// CHECK-NEXT:   [[V1:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<5xf32>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 5 {
// CHECK-NEXT:     [[V2:%\w+]] = affine.load %x[[[Vi]]] : memref<5xf32>
// CHECK-NEXT:     affine.store [[V2]], [[V1]][[[Vi]]] : memref<5xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V3:%\w+]] = arith.constant 5 : index
// CHECK-NEXT:   [[V4:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   [[V5:%\w+]], [[V6:%\w+]], [[V7:%\w+]] = scf.while ([[V8:%\w+]] = [[V1]], [[V9:%\w+]] = [[V0]], [[V10:%\w+]] = [[V4]]) : (memref<5xf32>, memref<5xf32>, index) -> (memref<5xf32>, memref<5xf32>, index) {
// CHECK-NEXT:     [[V11:%\w+]] = arith.cmpi slt, [[V10]], [[V3]] : index
// CHECK-NEXT:     scf.condition([[V11]]) [[V8]], [[V9]], [[V10]] : memref<5xf32>, memref<5xf32>, index
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0([[V12:%\w+]]: memref<5xf32>, [[V13:%\w+]]: memref<5xf32>, [[V14:%\w+]]: index):
// CHECK-NEXT:     [[V15:%\w+]] = arith.addi [[V14]], [[V14]] : index
// CHECK-NEXT:     [[V16:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     scf.for [[Vix1:%\w+]] = [[V16]] to [[V3]] step [[V15]] {
// CHECK-NEXT:       [[V17:%\w+]] = arith.addi [[Vix1]], [[V14]] : index
// CHECK-NEXT:       [[V18:%\w+]] = arith.minsi [[V17]], [[V3]] : index
// CHECK-NEXT:       [[V19:%\w+]] = arith.addi [[Vix1]], [[V15]] : index
// CHECK-NEXT:       [[V20:%\w+]] = arith.minsi [[V19]], [[V3]] : index
// CHECK-NEXT:       [[V21:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:       [[V22:%\w+]], [[V23:%\w+]] = scf.for [[Vix2:%\w+]] = [[Vix1]] to [[V20]] step [[V21]] iter_args([[V24:%\w+]] = [[Vix1]], [[V25:%\w+]] = [[V18]]) -> (index, index) {
// CHECK-NEXT:         [[V26:%\w+]] = arith.cmpi slt, [[V24]], [[V18]] : index
// CHECK-NEXT:         [[V27:%\w+]] = arith.cmpi slt, [[V25]], [[V20]] : index
// CHECK-NEXT:         [[V28:%\w+]] = arith.andi [[V26]], [[V27]] : i1
// CHECK-NEXT:         [[V29:%\w+]] = scf.if [[V28]] -> (i1) {
// CHECK-NEXT:           [[V30:%\w+]] = memref.load [[V12]][[[V25]]] : memref<5xf32>
// CHECK-NEXT:           [[V31:%\w+]] = memref.load [[V12]][[[V24]]] : memref<5xf32>
// CHECK-NEXT:           [[V32:%\w+]] = arith.cmpf olt, [[V30]], [[V31]] : f32
// CHECK-NEXT:           scf.yield [[V32]] : i1
// CHECK-NEXT:         } else {
// CHECK-NEXT:           scf.yield [[V27]] : i1
// CHECK-NEXT:         }
// CHECK-NEXT:         [[V33:%\w+]] = arith.select [[V29]], [[V25]], [[V24]] : index
// CHECK-NEXT:         [[V34:%\w+]] = memref.load [[V12]][[[V33]]] : memref<5xf32>
// CHECK-NEXT:         memref.store [[V34]], [[V13]][[[Vix2]]] : memref<5xf32>
// CHECK-NEXT:         [[V35:%\w+]] = arith.addi [[V24]], [[V21]] : index
// CHECK-NEXT:         [[V36:%\w+]] = arith.addi [[V25]], [[V21]] : index
// CHECK-NEXT:         [[V37:%\w+]] = arith.select [[V29]], [[V24]], [[V35]] : index
// CHECK-NEXT:         [[V38:%\w+]] = arith.select [[V29]], [[V36]], [[V25]] : index
// CHECK-NEXT:         scf.yield [[V37]], [[V38]] : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield [[V13]], [[V12]], [[V15]] : memref<5xf32>, memref<5xf32>, index
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix3:%\w+]] = 0 to 5 {
// CHECK-NEXT:     [[V39:%\w+]] = affine.load [[V5]][[[Vix3]]] : memref<5xf32>
// CHECK-NEXT:     affine.store [[V39]], %out[[[Vix3]]] : memref<5xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @numbers(%out: memref<5xf32>, %x: memref<5xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<5, scalar<f32>>
    %sort = rise.sort #rise.nat<5> #rise.scalar<f32>
    %fun = rise.lambda (%a : !rise.scalar<f32>, %b : !rise.scalar<f32>) -> !rise.scalar<i1> {
      %1 = rise.embed(%a, %b) {
        %2 = arith.cmpf olt, %a, %b : f32
        rise.return %2 : i1
      } : !rise.scalar<i1>
      rise.return %1 : !rise.scalar<i1>
    }
    %2 = rise.apply %sort, %fun, %0
    rise.out %out <- %2
    rise.return
  }
  func.return
}

// Where there are arrays in the elements, indices are sorted.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:   [[V0:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<5xindex>
// CHECK-NEXT:   [[V1:%\w+]] = memref.alloca() {alignment = 64 : i64} : memref<5xindex>
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 5 {
// CHECK-NEXT:     affine.store [[Vi]], [[V1]][[[Vi]]] : memref<5xindex>
// CHECK-NEXT:   }
// CHECK-NEXT:   [[V2:%\w+]] = arith.constant 5 : index
// CHECK-NEXT:   [[V3:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:   [[V4:%\w+]], [[V5:%\w+]], [[V6:%\w+]] = scf.while ([[V7:%\w+]] = [[V1]], [[V8:%\w+]] = [[V0]], [[V9:%\w+]] = [[V3]]) : (memref<5xindex>, memref<5xindex>, index) -> (memref<5xindex>, memref<5xindex>, index) {
// CHECK-NEXT:     [[V10:%\w+]] = arith.cmpi slt, [[V9]], [[V2]] : index
// CHECK-NEXT:     scf.condition([[V10]]) [[V7]], [[V8]], [[V9]] : memref<5xindex>, memref<5xindex>, index
// CHECK-NEXT:   } do {
// CHECK-NEXT:   ^bb0([[V11:%\w+]]: memref<5xindex>, [[V12:%\w+]]: memref<5xindex>, [[V13:%\w+]]: index):
// CHECK-NEXT:     [[V14:%\w+]] = arith.addi [[V13]], [[V13]] : index
// CHECK-NEXT:     [[V15:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:     scf.for [[Vix1:%\w+]] = [[V15]] to [[V2]] step [[V14]] {
// CHECK-NEXT:       [[V16:%\w+]] = arith.addi [[Vix1]], [[V13]] : index
// CHECK-NEXT:       [[V17:%\w+]] = arith.minsi [[V16]], [[V2]] : index
// CHECK-NEXT:       [[V18:%\w+]] = arith.addi [[Vix1]], [[V14]] : index
// CHECK-NEXT:       [[V19:%\w+]] = arith.minsi [[V18]], [[V2]] : index
// CHECK-NEXT:       [[V20:%\w+]] = arith.constant 1 : index
// CHECK-NEXT:       [[V21:%\w+]], [[V22:%\w+]] = scf.for [[Vix2:%\w+]] = [[Vix1]] to [[V19]] step [[V20]] iter_args([[V23:%\w+]] = [[Vix1]], [[V24:%\w+]] = [[V17]]) -> (index, index) {
// CHECK-NEXT:         [[V25:%\w+]] = arith.cmpi slt, [[V23]], [[V17]] : index
// CHECK-NEXT:         [[V26:%\w+]] = arith.cmpi slt, [[V24]], [[V19]] : index
// CHECK-NEXT:         [[V27:%\w+]] = arith.andi [[V25]], [[V26]] : i1
// CHECK-NEXT:         [[V28:%\w+]] = scf.if [[V27]] -> (i1) {
// CHECK-NEXT:           [[V29:%\w+]] = memref.load [[V11]][[[V24]]] : memref<5xindex>
// CHECK-NEXT:           [[V30:%\w+]] = memref.load [[V11]][[[V23]]] : memref<5xindex>
// CHECK-NEXT:           [[V31:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:           [[V37:%\w+]] = memref.load %x[[[V29]], [[V31]]] : memref<5x2xf32>
// CHECK-NEXT:           [[V33:%\w+]] = arith.constant 0 : index
// CHECK-NEXT:           [[V44:%\w+]] = memref.load %x[[[V30]], [[V33]]] : memref<5x2xf32>
// CHECK-NEXT:           [[V45:%\w+]] = arith.cmpf olt, [[V37]], [[V44]] : f32
// CHECK-NEXT:           scf.yield [[V45]] : i1
// CHECK-NEXT:         } else {
// CHECK-NEXT:           scf.yield [[V26]] : i1
// CHECK-NEXT:         }
// CHECK-NEXT:         [[V46:%\w+]] = arith.select [[V28]], [[V24]], [[V23]] : index
// CHECK-NEXT:         [[V47:%\w+]] = memref.load [[V11]][[[V46]]] : memref<5xindex>
// CHECK-NEXT:         memref.store [[V47]], [[V12]][[[Vix2]]] : memref<5xindex>
// CHECK-NEXT:         [[V48:%\w+]] = arith.addi [[V23]], [[V20]] : index
// CHECK-NEXT:         [[V49:%\w+]] = arith.addi [[V24]], [[V20]] : index
// CHECK-NEXT:         [[V50:%\w+]] = arith.select [[V28]], [[V23]], [[V48]] : index
// CHECK-NEXT:         [[V51:%\w+]] = arith.select [[V28]], [[V49]], [[V24]] : index
// CHECK-NEXT:         scf.yield [[V50]], [[V51]] : index, index
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield [[V12]], [[V11]], [[V14]] : memref<5xindex>, memref<5xindex>, index
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix3:%\w+]] = 0 to 5 {
// CHECK-NEXT:     affine.for [[Vix4:%\w+]] = 0 to 2 {
// CHECK-NEXT:       [[V52:%\w+]] = affine.load [[V4]][[[Vix3]]] : memref<5xindex>
// CHECK-NEXT:       [[V53:%\w+]] = memref.load %x[[[V52]], [[Vix4]]] : memref<5x2xf32>
// CHECK-NEXT:       affine.store [[V53]], %out[[[Vix3]], [[Vix4]]] : memref<5x2xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @rows(%out: memref<5x2xf32>, %x: memref<5x2xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<5, array<2, scalar<f32>>>
    %sort = rise.sort #rise.nat<5> #rise.array<2, scalar<f32>>
    %fun = rise.lambda (%a : !rise.array<2, scalar<f32>>, %b : !rise.array<2, scalar<f32>>) -> !rise.scalar<i1> {
      %at = rise.at #rise.nat<2> #rise.scalar<f32>
      %clampIdx = rise.clampIdx #rise.nat<2> #rise.scalar<i32>
      %1 = rise.literal #rise.lit<0, scalar<i32>>
      %2 = rise.apply %clampIdx, %1
      %3 = rise.apply %at, %2, %a
      %at_1 = rise.at #rise.nat<2> #rise.scalar<f32>
      %clampIdx_1 = rise.clampIdx #rise.nat<2> #rise.scalar<i32>
      %4 = rise.literal #rise.lit<0, scalar<i32>>
      %5 = rise.apply %clampIdx_1, %4
      %6 = rise.apply %at_1, %5, %b
      %7 = rise.embed(%3, %6) {
        %8 = arith.cmpf olt, %3, %6 : f32
        rise.return %8 : i1
      } : !rise.scalar<i1>
      rise.return %7 : !rise.scalar<i1>
    }
    %8 = rise.apply %sort, %fun, %0
    rise.out %out <- %8
    rise.return
  }
  func.return
}
