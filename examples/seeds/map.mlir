// out[i] = in[i] + in[i]
func.func @double(%out : memref<10xf32>, %in : memref<10xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<10, scalar<f32>>
    %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%x) {
        %r = arith.addf %x, %x : f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.mapSeq {to = "affine"} #rise.nat<10> #rise.scalar<f32> #rise.scalar<f32>
    %ys = rise.apply %map, %f, %xs
    rise.out %out <- %ys
    rise.return
  }
  func.return
}
