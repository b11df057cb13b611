// Three nested loops, a constant captured from outside the inner functions.
func.func @nested(%out : memref<2x3x4xf32>, %in : memref<2x3x4xf32>, %inC : memref<f32>) {
  rise.lowering_unit {
    %x3 = rise.in %in : !rise.array<2, array<3, array<4, scalar<f32>>>>
    %c = rise.in %inC : !rise.scalar<f32>
    %f3 = rise.lambda (%x2 : !rise.array<3, array<4, scalar<f32>>>) -> !rise.array<3, array<4, scalar<f32>>> {
      %f2 = rise.lambda (%x1 : !rise.array<4, scalar<f32>>) -> !rise.array<4, scalar<f32>> {
        %f1 = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
          %r = rise.embed(%x, %c) {
            %r = arith.subf %x, %c : f32
            rise.return %r : f32
          } : !rise.scalar<f32>
          rise.return %r : !rise.scalar<f32>
        }
        %map = rise.mapSeq {to = "scf"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
        %r = rise.apply %map, %f1, %x1
        rise.return %r : !rise.array<4, scalar<f32>>
      }
      %map = rise.mapSeq {to = "affine"} #rise.nat<3> #rise.array<4, scalar<f32>> #rise.array<4, scalar<f32>>
      %r = rise.apply %map, %f2, %x2
      rise.return %r : !rise.array<3, array<4, scalar<f32>>>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<2> #rise.array<3, array<4, scalar<f32>>> #rise.array<3, array<4, scalar<f32>>>
    %y3 = rise.apply %map, %f3, %x3
    rise.out %out <- %y3
    rise.return
  }
  func.return
}
