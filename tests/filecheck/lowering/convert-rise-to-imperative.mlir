// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine}' | filecheck %s --check-prefix=AFFINE
// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=scf}' | filecheck %s --check-prefix=SCF

// AFFINE-LABEL: func.func @mapSeq
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V2:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V3:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V4:%\w+]] = rise.embed([[V2]]) {
// AFFINE-NEXT:       [[V5:%\w+]] = arith.negf [[V2]] : f32
// AFFINE-NEXT:       rise.return [[V5]] : f32
// AFFINE-NEXT:     } : !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V4]], [[V3]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

// SCF-LABEL: func.func @mapSeq
// SCF-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V2:%\w+]] = arith.constant 0 : index
// SCF-NEXT:   [[V3:%\w+]] = arith.constant 4 : index
// SCF-NEXT:   [[V4:%\w+]] = arith.constant 1 : index
// SCF-NEXT:   scf.for [[Vi:%\w+]] = [[V2]] to [[V3]] step [[V4]] {
// SCF-NEXT:     [[V5:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     [[V6:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     [[V7:%\w+]] = rise.embed([[V5]]) {
// SCF-NEXT:       [[V8:%\w+]] = arith.negf [[V5]] : f32
// SCF-NEXT:       rise.return [[V8]] : f32
// SCF-NEXT:     } : !rise.scalar<f32>
// SCF-NEXT:     rise.codegen.assign [[V7]], [[V6]] : !rise.scalar<f32>, !rise.scalar<f32>
// SCF-NEXT:   }
// SCF-NEXT:   func.return

func.func @mapSeq(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%x) {
        %r = arith.negf %x : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %ys = rise.apply %map, %f, %xs
    rise.out %out <- %ys
  }
  func.return
}

// AFFINE-LABEL: func.func @mapPar
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   affine.parallel ([[Vi:%\w+]]) = (0) to (4) {
// AFFINE-NEXT:     [[V2:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V3:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V2]], [[V3]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

// SCF-LABEL: func.func @mapPar
// SCF-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V2:%\w+]] = arith.constant 0 : index
// SCF-NEXT:   [[V3:%\w+]] = arith.constant 4 : index
// SCF-NEXT:   [[V4:%\w+]] = arith.constant 1 : index
// SCF-NEXT:   "scf.parallel"([[V2]], [[V3]], [[V4]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// SCF-NEXT:   ^bb0([[Vi:%\w+]]: index):
// SCF-NEXT:     [[V5:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     [[V6:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     rise.codegen.assign [[V5]], [[V6]] : !rise.scalar<f32>, !rise.scalar<f32>
// SCF-NEXT:     scf.reduce
// SCF-NEXT:   }) : (index, index, index) -> ()
// SCF-NEXT:   func.return

func.func @mapPar(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<4, scalar<f32>>
    %id = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      rise.return %x : !rise.scalar<f32>
    }
    %map = rise.mapPar #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %ys = rise.apply %map, %id, %xs
    rise.out %out <- %ys
  }
  func.return
}

// A map that is read backwards is a view; one that asks for a loop gets memory.
// AFFINE-LABEL: func.func @mapsThatAreRead
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<f32> -> !rise.scalar<f32>
// AFFINE-NEXT:   [[V2:%\w+]] = memref.alloca() {rise.temporary} : memref<4xf32>
// AFFINE-NEXT:   [[V3:%\w+]] = rise.codegen.cast [[V2]] : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V4:%\w+]] = rise.codegen.mapread [[V0]] : !rise.array<4, scalar<f32>> -> !rise.array<4, scalar<f32>> {
// AFFINE-NEXT:   ^bb0([[V5:%\w+]]: !rise.scalar<f32>):
// AFFINE-NEXT:     [[V6:%\w+]] = rise.embed([[V5]]) {
// AFFINE-NEXT:       [[V7:%\w+]] = arith.negf [[V5]] : f32
// AFFINE-NEXT:       rise.return [[V7]] : f32
// AFFINE-NEXT:     } : !rise.scalar<f32>
// AFFINE-NEXT:     rise.return [[V6]] : !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   [[V7]] = rise.codegen.reverse [[V4]] : !rise.array<4, scalar<f32>> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V8:%\w+]] = rise.codegen.idx [[V7]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V9:%\w+]] = rise.codegen.idx [[V3]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V10:%\w+]] = rise.embed([[V8]]) {
// AFFINE-NEXT:       [[V11:%\w+]] = arith.negf [[V8]] : f32
// AFFINE-NEXT:       rise.return [[V11]] : f32
// AFFINE-NEXT:     } : !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V10]], [[V9]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   [[V11]] = rise.codegen.cast [[V2]] : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V12:%\w+]] = rise.embed() {
// AFFINE-NEXT:     [[V13:%\w+]] = arith.constant 0.000000e+00 : f32
// AFFINE-NEXT:     rise.return [[V13]] : f32
// AFFINE-NEXT:   } : !rise.scalar<f32>
// AFFINE-NEXT:   [[V13]] = rise.codegen.cast [[V12]] : !rise.scalar<f32> -> f32
// AFFINE-NEXT:   [[V14:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 4 iter_args([[V15:%\w+]] = [[V13]]) -> (f32) {
// AFFINE-NEXT:     [[V16:%\w+]] = rise.codegen.cast [[V15]] : f32 -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V17:%\w+]] = rise.codegen.idx [[V11]], [[Vix1]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V18:%\w+]] = rise.embed([[V17]], [[V16]]) {
// AFFINE-NEXT:       [[V19:%\w+]] = arith.addf [[V17]], [[V16]] : f32
// AFFINE-NEXT:       rise.return [[V19]] : f32
// AFFINE-NEXT:     } : !rise.scalar<f32>
// AFFINE-NEXT:     [[V19]] = rise.codegen.cast [[V18]] : !rise.scalar<f32> -> f32
// AFFINE-NEXT:     affine.yield [[V19]] : f32
// AFFINE-NEXT:   }
// AFFINE-NEXT:   [[V20:%\w+]] = rise.codegen.cast [[V14]] : f32 -> !rise.scalar<f32>
// AFFINE-NEXT:   rise.codegen.assign [[V20]], [[V1]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   func.return

// SCF-LABEL: func.func @mapsThatAreRead
// SCF-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<f32> -> !rise.scalar<f32>
// SCF-NEXT:   [[V2:%\w+]] = memref.alloca() {rise.temporary} : memref<4xf32>
// SCF-NEXT:   [[V3:%\w+]] = rise.codegen.cast [[V2]] : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V4:%\w+]] = rise.codegen.mapread [[V0]] : !rise.array<4, scalar<f32>> -> !rise.array<4, scalar<f32>> {
// SCF-NEXT:   ^bb0([[V5:%\w+]]: !rise.scalar<f32>):
// SCF-NEXT:     [[V6:%\w+]] = rise.embed([[V5]]) {
// SCF-NEXT:       [[V7:%\w+]] = arith.negf [[V5]] : f32
// SCF-NEXT:       rise.return [[V7]] : f32
// SCF-NEXT:     } : !rise.scalar<f32>
// SCF-NEXT:     rise.return [[V6]] : !rise.scalar<f32>
// SCF-NEXT:   }
// SCF-NEXT:   [[V7]] = rise.codegen.reverse [[V4]] : !rise.array<4, scalar<f32>> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V8:%\w+]] = arith.constant 0 : index
// SCF-NEXT:   [[V9:%\w+]] = arith.constant 4 : index
// SCF-NEXT:   [[V10:%\w+]] = arith.constant 1 : index
// SCF-NEXT:   scf.for [[Vi:%\w+]] = [[V8]] to [[V9]] step [[V10]] {
// SCF-NEXT:     [[V11:%\w+]] = rise.codegen.idx [[V7]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     [[V12:%\w+]] = rise.codegen.idx [[V3]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     [[V13:%\w+]] = rise.embed([[V11]]) {
// SCF-NEXT:       [[V14:%\w+]] = arith.negf [[V11]] : f32
// SCF-NEXT:       rise.return [[V14]] : f32
// SCF-NEXT:     } : !rise.scalar<f32>
// SCF-NEXT:     rise.codegen.assign [[V13]], [[V12]] : !rise.scalar<f32>, !rise.scalar<f32>
// SCF-NEXT:   }
// SCF-NEXT:   [[V14]] = rise.codegen.cast [[V2]] : memref<4xf32> -> !rise.array<4, scalar<f32>>
// SCF-NEXT:   [[V15:%\w+]] = rise.embed() {
// SCF-NEXT:     [[V16:%\w+]] = arith.constant 0.000000e+00 : f32
// SCF-NEXT:     rise.return [[V16]] : f32
// SCF-NEXT:   } : !rise.scalar<f32>
// SCF-NEXT:   [[V16]] = rise.codegen.cast [[V15]] : !rise.scalar<f32> -> f32
// SCF-NEXT:   [[V17:%\w+]] = arith.constant 0 : index
// SCF-NEXT:   [[V18:%\w+]] = arith.constant 4 : index
// SCF-NEXT:   [[V19:%\w+]] = arith.constant 1 : index
// SCF-NEXT:   [[V20:%\w+]] = scf.for [[Vix1:%\w+]] = [[V17]] to [[V18]] step [[V19]] iter_args([[V21:%\w+]] = [[V16]]) -> (f32) {
// SCF-NEXT:     [[V22:%\w+]] = rise.codegen.cast [[V21]] : f32 -> !rise.scalar<f32>
// SCF-NEXT:     [[V23:%\w+]] = rise.codegen.idx [[V14]], [[Vix1]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// SCF-NEXT:     [[V24:%\w+]] = rise.embed([[V23]], [[V22]]) {
// SCF-NEXT:       [[V25:%\w+]] = arith.addf [[V23]], [[V22]] : f32
// SCF-NEXT:       rise.return [[V25]] : f32
// SCF-NEXT:     } : !rise.scalar<f32>
// SCF-NEXT:     [[V25]] = rise.codegen.cast [[V24]] : !rise.scalar<f32> -> f32
// SCF-NEXT:     scf.yield [[V25]] : f32
// SCF-NEXT:   }
// SCF-NEXT:   [[V26:%\w+]] = rise.codegen.cast [[V20]] : f32 -> !rise.scalar<f32>
// SCF-NEXT:   rise.codegen.assign [[V26]], [[V1]] : !rise.scalar<f32>, !rise.scalar<f32>
// SCF-NEXT:   func.return

func.func @mapsThatAreRead(%out : memref<f32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%x) {
        %r = arith.negf %x : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.map #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %ys = rise.apply %map, %f, %xs
    %reverse = rise.reverse #rise.nat<4> #rise.scalar<f32>
    %rs = rise.apply %reverse, %ys
    %mapSeq = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %zs = rise.apply %mapSeq, %f, %rs
    %add = rise.lambda (%x : !rise.scalar<f32>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%x, %acc) {
        %r = arith.addf %x, %acc : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %zero = rise.literal #rise.lit<0.0>
    %reduce = rise.reduceSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %sum = rise.apply %reduce, %add, %zero, %zs
    rise.out %out <- %sum
  }
  func.return
}

// An accumulator that a round reads elsewhere than it writes lives in two buffers that take turns.
// AFFINE-LABEL: func.func @reduceOfArrays
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<3x2xf32> -> !rise.array<3, array<2, scalar<f32>>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %init : memref<2xf32> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.cast %out : memref<2xf32> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:   [[V3:%\w+]] = memref.alloca() {rise.temporary} : memref<2xf32>
// AFFINE-NEXT:   [[V4:%\w+]] = memref.alloca() {rise.temporary} : memref<2xf32>
// AFFINE-NEXT:   [[V5:%\w+]] = rise.codegen.cast [[V3]] : memref<2xf32> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 2 {
// AFFINE-NEXT:     [[V6:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V7:%\w+]] = rise.codegen.idx [[V5]], [[Vi]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V6]], [[V7]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   [[V8:%\w+]], [[V9:%\w+]] = affine.for [[Vix1:%\w+]] = 0 to 3 iter_args([[V10:%\w+]] = [[V3]], [[V11:%\w+]] = [[V4]]) -> (memref<2xf32>, memref<2xf32>) {
// AFFINE-NEXT:     [[V12:%\w+]] = rise.codegen.cast [[V10]] : memref<2xf32> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:     [[V13:%\w+]] = rise.codegen.cast [[V11]] : memref<2xf32> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:     [[V14:%\w+]] = rise.codegen.idx [[V0]], [[Vix1]] : !rise.array<3, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:     [[V15:%\w+]] = rise.codegen.reverseAcc [[V13]] : !rise.array<2, scalar<f32>> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:     affine.for [[Vix2:%\w+]] = 0 to 2 {
// AFFINE-NEXT:       [[V16:%\w+]] = rise.codegen.idx [[V12]], [[Vix2]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:       [[V17:%\w+]] = rise.codegen.idx [[V15]], [[Vix2]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:       rise.codegen.assign [[V16]], [[V17]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:     }
// AFFINE-NEXT:     affine.yield [[V11]], [[V10]] : memref<2xf32>, memref<2xf32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   [[V18:%\w+]] = rise.codegen.cast [[V8]] : memref<2xf32> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vix3:%\w+]] = 0 to 2 {
// AFFINE-NEXT:     [[V19:%\w+]] = rise.codegen.idx [[V18]], [[Vix3]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V20:%\w+]] = rise.codegen.idx [[V2]], [[Vix3]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V19]], [[V20]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @reduceOfArrays(%out : memref<2xf32>, %in : memref<3x2xf32>, %init : memref<2xf32>) {
  rise.lowering_unit {
    %xss = rise.in %in : !rise.array<3, array<2, scalar<f32>>>
    %start = rise.in %init : !rise.array<2, scalar<f32>>
    %first = rise.lambda (%xs : !rise.array<2, scalar<f32>>, %acc : !rise.array<2, scalar<f32>>) -> !rise.array<2, scalar<f32>> {
      %reverse = rise.reverse #rise.nat<2> #rise.scalar<f32>
      %turned = rise.apply %reverse, %acc
      rise.return %turned : !rise.array<2, scalar<f32>>
    }
    %reduce = rise.reduceSeq #rise.nat<3> #rise.array<2, scalar<f32>> #rise.array<2, scalar<f32>>
    %last = rise.apply %reduce, %first, %start, %xss
    rise.out %out <- %last
  }
  func.return
}

// AFFINE-LABEL: func.func @viewsThatAreRead
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<3x4xf32> -> !rise.array<3, array<4, scalar<f32>>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<6x2xf32> -> !rise.array<6, array<2, scalar<f32>>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.transpose [[V0]] : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
// AFFINE-NEXT:   [[V3:%\w+]] = rise.codegen.join [[V2]] : !rise.array<4, array<3, scalar<f32>>> -> !rise.array<12, scalar<f32>>
// AFFINE-NEXT:   [[V4:%\w+]] = rise.codegen.pad [[V3]] left <1> : !rise.array<12, scalar<f32>> -> !rise.array<13, scalar<f32>>
// AFFINE-NEXT:   [[V5:%\w+]] = rise.codegen.slide [[V4]] step <1> : !rise.array<13, scalar<f32>> -> !rise.array<12, array<2, scalar<f32>>>
// AFFINE-NEXT:   [[V6:%\w+]] = rise.codegen.split [[V5]] : !rise.array<12, array<2, scalar<f32>>> -> !rise.array<6, array<2, array<2, scalar<f32>>>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 6 {
// AFFINE-NEXT:     [[V7:%\w+]] = rise.codegen.idx [[V6]], [[Vi]] : !rise.array<6, array<2, array<2, scalar<f32>>>> -> !rise.array<2, array<2, scalar<f32>>>
// AFFINE-NEXT:     [[V8:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<6, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:     [[V9:%\w+]] = rise.codegen.transpose [[V7]] : !rise.array<2, array<2, scalar<f32>>> -> !rise.array<2, array<2, scalar<f32>>>
// AFFINE-NEXT:     affine.for [[Vix1:%\w+]] = 0 to 2 {
// AFFINE-NEXT:       [[V10:%\w+]] = rise.codegen.idx [[V9]], [[Vix1]] : !rise.array<2, array<2, scalar<f32>>> -> !rise.array<2, scalar<f32>>
// AFFINE-NEXT:       [[V11:%\w+]] = rise.codegen.idx [[V8]], [[Vix1]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:       [[V12:%\w+]] = rise.embed() {
// AFFINE-NEXT:         [[V13:%\w+]] = arith.constant 1.000000e+00 : f32
// AFFINE-NEXT:         rise.return [[V13]] : f32
// AFFINE-NEXT:       } : !rise.scalar<f32>
// AFFINE-NEXT:       [[V13]] = rise.codegen.cast [[V12]] : !rise.scalar<f32> -> f32
// AFFINE-NEXT:       [[V14:%\w+]] = affine.for [[Vix2:%\w+]] = 0 to 2 iter_args([[V15:%\w+]] = [[V13]]) -> (f32) {
// AFFINE-NEXT:         [[V16:%\w+]] = rise.codegen.cast [[V15]] : f32 -> !rise.scalar<f32>
// AFFINE-NEXT:         [[V17:%\w+]] = rise.codegen.idx [[V10]], [[Vix2]] : !rise.array<2, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:         [[V18:%\w+]] = rise.codegen.cast [[V17]] : !rise.scalar<f32> -> f32
// AFFINE-NEXT:         affine.yield [[V18]] : f32
// AFFINE-NEXT:       }
// AFFINE-NEXT:       [[V19:%\w+]] = rise.codegen.cast [[V14]] : f32 -> !rise.scalar<f32>
// AFFINE-NEXT:       rise.codegen.assign [[V19]], [[V11]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:     }
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @viewsThatAreRead(%out : memref<6x2xf32>, %in : memref<3x4xf32>) {
  rise.lowering_unit {
    %xss = rise.in %in : !rise.array<3, array<4, scalar<f32>>>
    %transpose = rise.transpose #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
    %columns = rise.apply %transpose, %xss
    %join = rise.join #rise.nat<4> #rise.nat<3> #rise.scalar<f32>
    %joined = rise.apply %join, %columns
    %pad = rise.pad #rise.nat<12> #rise.nat<1> #rise.nat<0> #rise.scalar<f32>
    %padded = rise.apply %pad, %joined
    %slide = rise.slide #rise.nat<12> #rise.nat<2> #rise.nat<1> #rise.scalar<f32>
    %windows = rise.apply %slide, %padded
    %split = rise.split #rise.nat<2> #rise.nat<6> #rise.array<2, scalar<f32>>
    %chunks = rise.apply %split, %windows
    %f = rise.lambda (%c : !rise.array<2, array<2, scalar<f32>>>) -> !rise.array<2, scalar<f32>> {
      %t = rise.transpose #rise.nat<2> #rise.nat<2> #rise.scalar<f32>
      %ct = rise.apply %t, %c
      %add = rise.lambda (%x : !rise.array<2, scalar<f32>>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
        rise.return %acc : !rise.scalar<f32>
      }
      %g = rise.lambda (%w : !rise.array<2, scalar<f32>>) -> !rise.scalar<f32> {
        %one = rise.literal #rise.lit<1.0>
        %max = rise.lambda (%x : !rise.scalar<f32>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
          rise.return %x : !rise.scalar<f32>
        }
        %reduce = rise.reduceSeq #rise.nat<2> #rise.scalar<f32> #rise.scalar<f32>
        %r = rise.apply %reduce, %max, %one, %w
        rise.return %r : !rise.scalar<f32>
      }
      %map = rise.mapSeq #rise.nat<2> #rise.array<2, scalar<f32>> #rise.scalar<f32>
      %r = rise.apply %map, %g, %ct
      rise.return %r : !rise.array<2, scalar<f32>>
    }
    %map = rise.mapSeq #rise.nat<6> #rise.array<2, array<2, scalar<f32>>> #rise.array<2, scalar<f32>>
    %result = rise.apply %map, %f, %chunks
    rise.out %out <- %result
  }
  func.return
}

// AFFINE-LABEL: func.func @viewsThatAreStored
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<12xf32> -> !rise.array<12, scalar<f32>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<3x4xf32> -> !rise.array<3, array<4, scalar<f32>>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.transposeAcc [[V1]] : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
// AFFINE-NEXT:   [[V3:%\w+]] = rise.codegen.splitAcc [[V2]] : !rise.array<4, array<3, scalar<f32>>> -> !rise.array<12, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 12 {
// AFFINE-NEXT:     [[V4:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<12, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V5:%\w+]] = rise.codegen.idx [[V3]], [[Vi]] : !rise.array<12, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V4]], [[V5]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @viewsThatAreStored(%out : memref<3x4xf32>, %in : memref<12xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<12, scalar<f32>>
    %id = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      rise.return %x : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<12> #rise.scalar<f32> #rise.scalar<f32>
    %ys = rise.apply %map, %id, %xs
    %split = rise.split #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
    %chunks = rise.apply %split, %ys
    %transpose = rise.transpose #rise.nat<4> #rise.nat<3> #rise.scalar<f32>
    %columns = rise.apply %transpose, %chunks
    rise.out %out <- %columns
  }
  func.return
}

// AFFINE-LABEL: func.func @joinThatIsStored
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %in : memref<2x3xf32> -> !rise.array<2, array<3, scalar<f32>>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<6xf32> -> !rise.array<6, scalar<f32>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.joinAcc [[V1]] : !rise.array<6, scalar<f32>> -> !rise.array<2, array<3, scalar<f32>>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 2 {
// AFFINE-NEXT:     [[V3:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<2, array<3, scalar<f32>>> -> !rise.array<3, scalar<f32>>
// AFFINE-NEXT:     [[V4:%\w+]] = rise.codegen.idx [[V2]], [[Vi]] : !rise.array<2, array<3, scalar<f32>>> -> !rise.array<3, scalar<f32>>
// AFFINE-NEXT:     affine.for [[Vix1:%\w+]] = 0 to 3 {
// AFFINE-NEXT:       [[V5:%\w+]] = rise.codegen.idx [[V3]], [[Vix1]] : !rise.array<3, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:       [[V6:%\w+]] = rise.codegen.idx [[V4]], [[Vix1]] : !rise.array<3, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:       rise.codegen.assign [[V5]], [[V6]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:     }
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @joinThatIsStored(%out : memref<6xf32>, %in : memref<2x3xf32>) {
  rise.lowering_unit {
    %xss = rise.in %in : !rise.array<2, array<3, scalar<f32>>>
    %id = rise.lambda (%x : !rise.array<3, scalar<f32>>) -> !rise.array<3, scalar<f32>> {
      rise.return %x : !rise.array<3, scalar<f32>>
    }
    %map = rise.mapSeq #rise.nat<2> #rise.array<3, scalar<f32>> #rise.array<3, scalar<f32>>
    %yss = rise.apply %map, %id, %xss
    %join = rise.join #rise.nat<2> #rise.nat<3> #rise.scalar<f32>
    %ys = rise.apply %join, %yss
    rise.out %out <- %ys
  }
  func.return
}

// AFFINE-LABEL: func.func @pairs
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %a : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %b : memref<4xi32> -> !rise.array<4, scalar<i32>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.cast %out : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V3:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V4:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     [[V5:%\w+]] = rise.codegen.tuple [[V3]], [[V4]] : !rise.scalar<f32>, !rise.scalar<i32> -> !rise.tuple<scalar<f32>, scalar<i32>>
// AFFINE-NEXT:     [[V6:%\w+]] = rise.codegen.idx [[V2]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V7:%\w+]] = rise.codegen.fst [[V5]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V7]], [[V6]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @pairs(%out : memref<4xf32>, %a : memref<4xf32>, %b : memref<4xi32>) {
  rise.lowering_unit {
    %xs = rise.in %a : !rise.array<4, scalar<f32>>
    %ys = rise.in %b : !rise.array<4, scalar<i32>>
    %zip = rise.zip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
    %ps = rise.apply %zip, %xs, %ys
    %fst = rise.fst #rise.scalar<f32> #rise.scalar<i32>
    %map = rise.mapSeq #rise.nat<4> #rise.tuple<scalar<f32>, scalar<i32>> #rise.scalar<f32>
    %result = rise.apply %map, %fst, %ps
    rise.out %out <- %result
  }
  func.return
}

// AFFINE-LABEL: func.func @pairsThatAreStored
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %c : memref<4xf32> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %d : memref<4xi32> -> !rise.array<4, scalar<i32>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
// AFFINE-NEXT:   [[V3:%\w+]] = rise.codegen.zipAcc1 [[V2]] : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<f32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V4:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V5:%\w+]] = rise.codegen.idx [[V3]], [[Vi]] : !rise.array<4, scalar<f32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V4]], [[V5]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   [[V6:%\w+]] = rise.codegen.zipAcc2 [[V2]] : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<i32>>
// AFFINE-NEXT:   affine.for [[Vix1:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V7:%\w+]] = rise.codegen.idx [[V1]], [[Vix1]] : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     [[V8:%\w+]] = rise.codegen.idx [[V6]], [[Vix1]] : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     rise.codegen.assign [[V7]], [[V8]] : !rise.scalar<i32>, !rise.scalar<i32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @pairsThatAreStored(%a : memref<4xf32>, %b : memref<4xi32>, %c : memref<4xf32>, %d : memref<4xi32>) {
  rise.lowering_unit {
    %xs = rise.in %c : !rise.array<4, scalar<f32>>
    %ys = rise.in %d : !rise.array<4, scalar<i32>>
    %zip = rise.zip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
    %ps = rise.apply %zip, %xs, %ys
    rise.out %a, %b <- %ps
  }
  func.return
}

// AFFINE-LABEL: func.func @unzipThatIsStored
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %c, %d : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.unzipAcc [[V1]] : !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V3:%\w+]] = rise.codegen.idx [[V0]], [[Vi]] : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<scalar<f32>, scalar<i32>>
// AFFINE-NEXT:     [[V4:%\w+]] = rise.codegen.idx [[V2]], [[Vi]] : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<scalar<f32>, scalar<i32>>
// AFFINE-NEXT:     [[V5:%\w+]] = rise.codegen.fst [[V3]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     [[V6:%\w+]] = rise.codegen.fst [[V4]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
// AFFINE-NEXT:     rise.codegen.assign [[V5]], [[V6]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:     [[V7:%\w+]] = rise.codegen.snd [[V3]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     [[V8:%\w+]] = rise.codegen.snd [[V4]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     rise.codegen.assign [[V7]], [[V8]] : !rise.scalar<i32>, !rise.scalar<i32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @unzipThatIsStored(%a : memref<4xf32>, %b : memref<4xi32>, %c : memref<4xf32>, %d : memref<4xi32>) {
  rise.lowering_unit {
    %ps = rise.in %c, %d : !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
    %unzip = rise.unzip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
    %both = rise.apply %unzip, %ps
    rise.out %a, %b <- %both
  }
  func.return
}

// AFFINE-LABEL: func.func @unzipThatIsRead
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %c, %d : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %out : memref<4xi32> -> !rise.array<4, scalar<i32>>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.unzip [[V0]] : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
// AFFINE-NEXT:   [[V3:%\w+]] = rise.codegen.snd [[V2]] : !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>> -> !rise.array<4, scalar<i32>>
// AFFINE-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// AFFINE-NEXT:     [[V4:%\w+]] = rise.codegen.idx [[V3]], [[Vi]] : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     [[V5:%\w+]] = rise.codegen.idx [[V1]], [[Vi]] : !rise.array<4, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:     rise.codegen.assign [[V4]], [[V5]] : !rise.scalar<i32>, !rise.scalar<i32>
// AFFINE-NEXT:   }
// AFFINE-NEXT:   func.return

func.func @unzipThatIsRead(%out : memref<4xi32>, %c : memref<4xf32>, %d : memref<4xi32>) {
  rise.lowering_unit {
    %ps = rise.in %c, %d : !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
    %unzip = rise.unzip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
    %both = rise.apply %unzip, %ps
    %snd = rise.snd #rise.array<4, scalar<f32>> #rise.array<4, scalar<i32>>
    %second = rise.apply %snd, %both
    rise.out %out <- %second
  }
  func.return
}

// AFFINE-LABEL: func.func @tupleThatIsStored
// AFFINE-NEXT:   [[V0:%\w+]] = rise.codegen.cast %c : memref<f32> -> !rise.scalar<f32>
// AFFINE-NEXT:   [[V1:%\w+]] = rise.codegen.cast %d : memref<i32> -> !rise.scalar<i32>
// AFFINE-NEXT:   [[V2:%\w+]] = rise.codegen.cast %a, %b : memref<f32>, memref<i32> -> !rise.tuple<scalar<f32>, scalar<i32>>
// AFFINE-NEXT:   [[V3:%\w+]] = rise.codegen.fst [[V2]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
// AFFINE-NEXT:   rise.codegen.assign [[V0]], [[V3]] : !rise.scalar<f32>, !rise.scalar<f32>
// AFFINE-NEXT:   [[V4:%\w+]] = rise.codegen.snd [[V2]] : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
// AFFINE-NEXT:   rise.codegen.assign [[V1]], [[V4]] : !rise.scalar<i32>, !rise.scalar<i32>
// AFFINE-NEXT:   func.return

func.func @tupleThatIsStored(%a : memref<f32>, %b : memref<i32>, %c : memref<f32>, %d : memref<i32>) {
  rise.lowering_unit {
    %x = rise.in %c : !rise.scalar<f32>
    %y = rise.in %d : !rise.scalar<i32>
    %tuple = rise.tuple #rise.scalar<f32> #rise.scalar<i32>
    %p = rise.apply %tuple, %x, %y
    rise.out %a, %b <- %p
  }
  func.return
}
