// A transposition on the load side.
func.func @load(%out : memref<5x3xf32>, %in : memref<3x5xf32>) {
  rise.lowering_unit {
    %xss = rise.in %in : !rise.array<3, array<5, scalar<f32>>>
    %transpose = rise.transpose #rise.nat<3> #rise.nat<5> #rise.scalar<f32>
    %columns = rise.apply %transpose, %xss
    %row = rise.lambda (%xs : !rise.array<3, scalar<f32>>) -> !rise.array<3, scalar<f32>> {
      %id = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
        rise.return %x : !rise.scalar<f32>
      }
      %map = rise.mapSeq {to = "affine"} #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
      %r = rise.apply %map, %id, %xs
      rise.return %r : !rise.array<3, scalar<f32>>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<5> #rise.array<3, scalar<f32>> #rise.array<3, scalar<f32>>
    %yss = rise.apply %map, %row, %columns
    rise.out %out <- %yss
    rise.return
  }
  func.return
}

// A transposition on the store side.
func.func @store(%out : memref<5x3xf32>, %in : memref<3x5xf32>) {
  rise.lowering_unit {
    %xss = rise.in %in : !rise.array<3, array<5, scalar<f32>>>
    %row = rise.lambda (%xs : !rise.array<5, scalar<f32>>) -> !rise.array<5, scalar<f32>> {
      %id = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
        rise.return %x : !rise.scalar<f32>
      }
      %map = rise.mapSeq {to = "affine"} #rise.nat<5> #rise.scalar<f32> #rise.scalar<f32>
      %r = rise.apply %map, %id, %xs
      rise.return %r : !rise.array<5, scalar<f32>>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<3> #rise.array<5, scalar<f32>> #rise.array<5, scalar<f32>>
    %rows = rise.apply %map, %row, %xss
    %transpose = rise.transpose #rise.nat<3> #rise.nat<5> #rise.scalar<f32>
    %yss = rise.apply %transpose, %rows
    rise.out %out <- %yss
    rise.return
  }
  func.return
}
