// Doubles 12 numbers in chunks of 4; split on the load side, join on the store side.
func.func @chunks(%out : memref<12xf32>, %in : memref<12xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<12, scalar<f32>>
    %split = rise.split #rise.nat<4> #rise.nat<3> #rise.scalar<f32>
    %chunks = rise.apply %split, %xs
    %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%x) {
        %r = arith.addf %x, %x : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %chunk = rise.lambda (%c : !rise.array<4, scalar<f32>>) -> !rise.array<4, scalar<f32>> {
      %map = rise.mapSeq {to = "affine"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
      %r = rise.apply %map, %f, %c
      rise.return %r : !rise.array<4, scalar<f32>>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<3> #rise.array<4, scalar<f32>> #rise.array<4, scalar<f32>>
    %doubled = rise.apply %map, %chunk, %chunks
    %join = rise.join #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
    %ys = rise.apply %join, %doubled
    rise.out %out <- %ys
    rise.return
  }
  func.return
}

// The other way round: join on the load side, split on the store side.
func.func @rows(%out : memref<4x3xf32>, %in : memref<2x6xf32>) {
  rise.lowering_unit {
    %xss = rise.in %in : !rise.array<2, array<6, scalar<f32>>>
    %join = rise.join #rise.nat<2> #rise.nat<6> #rise.scalar<f32>
    %xs = rise.apply %join, %xss
    %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%x) {
        %r = arith.addf %x, %x : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<12> #rise.scalar<f32> #rise.scalar<f32>
    %doubled = rise.apply %map, %f, %xs
    %split = rise.split #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
    %yss = rise.apply %split, %doubled
    rise.out %out <- %yss
    rise.return
  }
  func.return
}
