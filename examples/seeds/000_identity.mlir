// Seed 000, section 3.2: the identity function and its call, y |> fun(x => x).
// The listing's function type lacks a closing bracket.
func.func @identity(%out : memref<i32>, %in : memref<i32>) {
  %y = rise.in %in : !rise.scalar<i32>
  %id = rise.lambda (%x) : !rise.fun<scalar<i32> ->
                                     scalar<i32>> {
    rise.return %x : !rise.scalar<i32>
  }
  %res = rise.apply %id, %y : !rise.scalar<i32>
  rise.out %out <- %res
  func.return
}
