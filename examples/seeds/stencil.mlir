// A three-point stencil with clamped edges and step 2: out[i] is the sum of a window around 2 * i.
func.func @stencil(%out : memref<5xf32>, %in : memref<9xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<9, scalar<f32>>
    %pad = rise.pad #rise.nat<9> #rise.nat<1> #rise.nat<1> #rise.scalar<f32>
    %padded = rise.apply %pad, %xs
    %slide = rise.slide #rise.nat<5> #rise.nat<3> #rise.nat<2> #rise.scalar<f32>
    %windows = rise.apply %slide, %padded
    %sum = rise.lambda (%window : !rise.array<3, scalar<f32>>) -> !rise.scalar<f32> {
      %add = rise.lambda (%x : !rise.scalar<f32>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %r = rise.embed(%x, %acc) {
          %r = arith.addf %x, %acc : f32
          rise.return %r : f32
        } : !rise.scalar<f32>
        rise.return %r : !rise.scalar<f32>
      }
      %init = rise.literal #rise.lit<0.0>
      %reduce = rise.reduceSeq {to = "affine"} #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
      %r = rise.apply %reduce, %add, %init, %window
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<5> #rise.array<3, scalar<f32>> #rise.scalar<f32>
    %ys = rise.apply %map, %sum, %windows
    rise.out %out <- %ys
    rise.return
  }
  func.return
}
