// RUN: rise-opt %s -p canonicalize | filecheck %s

// Each function is one law; the verifier holds before and after.

// CHECK-LABEL: func.func @transposeOfTranspose
// CHECK-NEXT:    [[X:%\w+]] = rise.in %in : !rise.array<4, array<2, scalar<f32>>>
// CHECK-NEXT:    rise.out %out <- [[X]]
func.func @transposeOfTranspose(%out : memref<4x2xf32>, %in : memref<4x2xf32>) {
  %x = rise.in %in : !rise.array<4, array<2, scalar<f32>>>
  %once = rise.transpose #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
  %twice = rise.transpose #rise.nat<2> #rise.nat<4> #rise.scalar<f32>
  %y = rise.apply %once, %x
  %z = rise.apply %twice, %y
  rise.out %out <- %z
  return
}

// CHECK-LABEL: func.func @joinOfSplit
// CHECK-NEXT:    [[X:%\w+]] = rise.in %in : !rise.array<N * 2, scalar<f32>>
// CHECK-NEXT:    rise.out %out <- [[X]]
func.func @joinOfSplit(%out : memref<?xf32>, %in : memref<?xf32>) {
  %x = rise.in %in : !rise.array<N * 2, scalar<f32>>
  %split = rise.split #rise.nat<2> #rise.nat<N> #rise.scalar<f32>
  %join = rise.join #rise.nat<N> #rise.nat<2> #rise.scalar<f32>
  %y = rise.apply %split, %x
  %z = rise.apply %join, %y
  rise.out %out <- %z
  return
}

// Rows of another length are another value.
// CHECK-LABEL: func.func @splitOfJoin
// CHECK:         rise.split #rise.nat<4>
func.func @splitOfJoin(%out : memref<2x4xf32>, %in : memref<4x2xf32>) {
  %x = rise.in %in : !rise.array<4, array<2, scalar<f32>>>
  %join = rise.join #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
  %split = rise.split #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
  %y = rise.apply %join, %x
  %z = rise.apply %split, %y
  rise.out %out <- %z
  return
}

// A map of the identity goes, once its function is seen to be that.
// CHECK-LABEL: func.func @mapOfIdentity
// CHECK-NEXT:    [[X:%\w+]] = rise.in %in : !rise.array<4, array<2, scalar<f32>>>
// CHECK-NEXT:    rise.out %out <- [[X]]
func.func @mapOfIdentity(%out : memref<4x2xf32>, %in : memref<4x2xf32>) {
  %x = rise.in %in : !rise.array<4, array<2, scalar<f32>>>
  %id = rise.lambda (%row : !rise.array<2, scalar<f32>>) -> !rise.array<2, scalar<f32>> {
    %reverse = rise.reverse #rise.nat<2> #rise.scalar<f32>
    %once = rise.apply %reverse, %row
    %twice = rise.apply %reverse, %once
    rise.return %twice : !rise.array<2, scalar<f32>>
  }
  %map = rise.map #rise.nat<4> #rise.array<2, scalar<f32>> #rise.array<2, scalar<f32>>
  %y = rise.apply %map, %id, %x
  rise.out %out <- %y
  return
}

// A loop that is asked for by name stays.
// CHECK-LABEL: func.func @mapSeqOfIdentity
// CHECK:         rise.mapSeq
func.func @mapSeqOfIdentity(%out : memref<4xf32>, %in : memref<4xf32>) {
  %x = rise.in %in : !rise.array<4, scalar<f32>>
  %id = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
    rise.return %e : !rise.scalar<f32>
  }
  %map = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
  %y = rise.apply %map, %id, %x
  rise.out %out <- %y
  return
}

// CHECK-LABEL: func.func @sndOfTuple
// CHECK-NEXT:    [[Y:%\w+]] = rise.in %b : !rise.scalar<i32>
// CHECK-NEXT:    rise.out %out <- [[Y]]
func.func @sndOfTuple(%out : memref<i32>, %a : memref<f32>, %b : memref<i32>) {
  %x = rise.in %a : !rise.scalar<f32>
  %y = rise.in %b : !rise.scalar<i32>
  %tuple = rise.tuple #rise.scalar<f32> #rise.scalar<i32>
  %snd = rise.snd #rise.scalar<f32> #rise.scalar<i32>
  %pair = rise.apply %tuple, %x, %y
  %second = rise.apply %snd, %pair
  rise.out %out <- %second
  return
}

// CHECK-LABEL: func.func @dropOfConcat
// CHECK-NEXT:    [[Y:%\w+]] = rise.in %b : !rise.array<5, scalar<f32>>
// CHECK-NEXT:    rise.out %out <- [[Y]]
func.func @dropOfConcat(%out : memref<5xf32>, %a : memref<3xf32>, %b : memref<5xf32>) {
  %x = rise.in %a : !rise.array<3, scalar<f32>>
  %y = rise.in %b : !rise.array<5, scalar<f32>>
  %concat = rise.concat #rise.nat<3> #rise.nat<5> #rise.scalar<f32>
  %drop = rise.drop #rise.nat<3> #rise.nat<5> #rise.scalar<f32>
  %both = rise.apply %concat, %x, %y
  %z = rise.apply %drop, %both
  rise.out %out <- %z
  return
}

// A partial application that is used once is part of the application.
// CHECK-LABEL: func.func @applyOfApply
// CHECK:         [[F:%\w+]] = rise.concat
// CHECK-NEXT:    [[Y:%\w+]] = rise.apply [[F]], [[X:%\w+]], [[X]]
// CHECK-NEXT:    rise.out %out <- [[Y]]
func.func @applyOfApply(%out : memref<6xf32>, %a : memref<3xf32>) {
  %x = rise.in %a : !rise.array<3, scalar<f32>>
  %concat = rise.concat #rise.nat<3> #rise.nat<3> #rise.scalar<f32>
  %before = rise.apply %concat, %x
  %y = rise.apply %before, %x
  rise.out %out <- %y
  return
}

// CHECK-LABEL: func.func @empty
// CHECK-NEXT:    func.return
func.func @empty(%in : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
  }
  return
}
