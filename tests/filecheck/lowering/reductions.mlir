// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// A fold whose rounds read only what they write changes its result in place.
// CHECK-LABEL: func.func @inPlace
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 64 {
// CHECK-NEXT:     [[V0:%\w+]] = affine.load %start[[[Vi]]] : memref<64xf32>
// CHECK-NEXT:     affine.store [[V0]], %out[[[Vi]]] : memref<64xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.for [[Vix1:%\w+]] = 0 to 5 {
// CHECK-NEXT:     affine.for [[Vix2:%\w+]] = 0 to 64 {
// CHECK-NEXT:       [[V1:%\w+]] = affine.load %x[[[Vix1]], [[Vix2]]] : memref<5x64xf32>
// CHECK-NEXT:       [[V2:%\w+]] = affine.load %out[[[Vix2]]] : memref<64xf32>
// CHECK-NEXT:       [[V3:%\w+]] = arith.addf [[V1]], [[V2]] : f32
// CHECK-NEXT:       affine.store [[V3]], %out[[[Vix2]]] : memref<64xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @inPlace(%out: memref<64xf32>, %x: memref<5x64xf32>, %start: memref<64xf32>) {
  rise.lowering_unit {
    %xs = rise.in %x : !rise.array<5, array<64, scalar<f32>>>
    %init = rise.in %start : !rise.array<64, scalar<f32>>
    %step = rise.lambda (%row : !rise.array<64, scalar<f32>>, %acc : !rise.array<64, scalar<f32>>) -> !rise.array<64, scalar<f32>> {
      %zip = rise.zip #rise.nat<64> #rise.scalar<f32> #rise.scalar<f32>
      %pairs = rise.apply %zip, %row, %acc
      %add = rise.lambda (%p : !rise.tuple<scalar<f32>, scalar<f32>>) -> !rise.scalar<f32> {
        %fst = rise.fst #rise.scalar<f32> #rise.scalar<f32>
        %snd = rise.snd #rise.scalar<f32> #rise.scalar<f32>
        %a = rise.apply %fst, %p
        %b = rise.apply %snd, %p
        %sum = rise.embed(%a, %b) {
          %s = arith.addf %a, %b : f32
          rise.return %s : f32
        } : !rise.scalar<f32>
        rise.return %sum : !rise.scalar<f32>
      }
      %map = rise.map #rise.nat<64> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
      %sums = rise.apply %map, %add, %pairs
      rise.return %sums : !rise.array<64, scalar<f32>>
    }
    %reduce = rise.reduce #rise.nat<5> #rise.array<64, scalar<f32>> #rise.array<64, scalar<f32>>
    %total = rise.apply %reduce, %step, %init, %xs
    rise.out %out <- %total
    rise.return
  }
  func.return
}

// The elements of a small accumulator are carried by the loop.
// CHECK-LABEL: func.func @inRegisters
// CHECK-NEXT:   [[V1:%\w+]] = affine.load %start[0] : memref<2xf32>
// CHECK-NEXT:   [[V3:%\w+]] = affine.load %start[1] : memref<2xf32>
// CHECK-NEXT:   [[V4:%\w+]], [[V5:%\w+]] = affine.for [[Vi:%\w+]] = 0 to 5 iter_args([[V6:%\w+]] = [[V1]], [[V7:%\w+]] = [[V3]]) -> (f32, f32) {
// CHECK-NEXT:     [[V9:%\w+]] = affine.load %x[[[Vi]], 0] : memref<5x2xf32>
// CHECK-NEXT:     [[V10:%\w+]] = arith.addf [[V9]], [[V6]] : f32
// CHECK-NEXT:     [[V12:%\w+]] = affine.load %x[[[Vi]], 1] : memref<5x2xf32>
// CHECK-NEXT:     [[V13:%\w+]] = arith.addf [[V12]], [[V7]] : f32
// CHECK-NEXT:     affine.yield [[V10]], [[V13]] : f32, f32
// CHECK-NEXT:   }
// CHECK-NEXT:   affine.store [[V4]], %out[0] : memref<2xf32>
// CHECK-NEXT:   affine.store [[V5]], %out[1] : memref<2xf32>
// CHECK-NEXT:   func.return

func.func @inRegisters(%out: memref<2xf32>, %x: memref<5x2xf32>, %start: memref<2xf32>) {
  rise.lowering_unit {
    %xs = rise.in %x : !rise.array<5, array<2, scalar<f32>>>
    %init = rise.in %start : !rise.array<2, scalar<f32>>
    %step = rise.lambda (%row : !rise.array<2, scalar<f32>>, %acc : !rise.array<2, scalar<f32>>) -> !rise.array<2, scalar<f32>> {
      %zip = rise.zip #rise.nat<2> #rise.scalar<f32> #rise.scalar<f32>
      %pairs = rise.apply %zip, %row, %acc
      %add = rise.lambda (%p : !rise.tuple<scalar<f32>, scalar<f32>>) -> !rise.scalar<f32> {
        %fst = rise.fst #rise.scalar<f32> #rise.scalar<f32>
        %snd = rise.snd #rise.scalar<f32> #rise.scalar<f32>
        %a = rise.apply %fst, %p
        %b = rise.apply %snd, %p
        %sum = rise.embed(%a, %b) {
          %s = arith.addf %a, %b : f32
          rise.return %s : f32
        } : !rise.scalar<f32>
        rise.return %sum : !rise.scalar<f32>
      }
      %map = rise.map #rise.nat<2> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
      %sums = rise.apply %map, %add, %pairs
      rise.return %sums : !rise.array<2, scalar<f32>>
    }
    %reduce = rise.reduce #rise.nat<5> #rise.array<2, scalar<f32>> #rise.array<2, scalar<f32>>
    %total = rise.apply %reduce, %step, %init, %xs
    rise.out %out <- %total
    rise.return
  }
  func.return
}

// What a map of views moves is stored where it is to be.
// CHECK-LABEL: func.func @throughMaps
// CHECK-NEXT:   affine.for [[Vi:%\w+]] = 0 to 4 {
// CHECK-NEXT:     affine.for [[Vix1:%\w+]] = 0 to 3 {
// CHECK-NEXT:       affine.for [[Vix2:%\w+]] = 0 to 2 {
// CHECK-NEXT:         [[V0:%\w+]] = affine.load %x[[[Vi]], [[Vix1]], [[Vix2]]] : memref<4x3x2xf32>
// CHECK-NEXT:         affine.store [[V0]], %out[[[Vix1]], [[Vi]] * 2 + [[Vix2]]] : memref<3x8xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

func.func @throughMaps(%out: memref<3x8xf32>, %x: memref<4x3x2xf32>) {
  rise.lowering_unit {
    %xs = rise.in %x : !rise.array<4, array<3, array<2, scalar<f32>>>>
    %same = rise.lambda (%a : !rise.array<3, array<2, scalar<f32>>>) -> !rise.array<3, array<2, scalar<f32>>> {
      rise.return %a : !rise.array<3, array<2, scalar<f32>>>
    }
    %mapSeq = rise.mapSeq #rise.nat<4> #rise.array<3, array<2, scalar<f32>>> #rise.array<3, array<2, scalar<f32>>>
    %ys = rise.apply %mapSeq, %same, %xs
    %transpose = rise.transpose #rise.nat<4> #rise.nat<3> #rise.array<2, scalar<f32>>
    %ts = rise.apply %transpose, %ys
    %join = rise.join #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
    %map = rise.map #rise.nat<3> #rise.array<4, array<2, scalar<f32>>> #rise.array<8, scalar<f32>>
    %zs = rise.apply %map, %join, %ts
    rise.out %out <- %zs
    rise.return
  }
  func.return
}
