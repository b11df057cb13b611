// Seed 000, section 3.3: map applied to a function and an array of 1024 integers.
func.func @map(%out : memref<1024xi32>, %in : memref<1024xi32>) {
  %array = rise.in %in : !rise.array<1024, scalar<i32>>
  %f = rise.lambda (%x : !rise.scalar<i32>) -> !rise.scalar<i32> {
    %square = rise.embed(%x) {
      %square = arith.muli %x, %x : i32
      rise.return %square : i32
    } : !rise.scalar<i32>
    rise.return %square : !rise.scalar<i32>
  }
  %m = rise.map #nat<1024> #scalar<i32> #scalar<i32>
    : !rise.fun< func< scalar<i32> -> scalar<i32> > ->
        func< array<1024, scalar<i32>> ->
          array<1024, scalar<i32>> > >
  %res = rise.apply %m, %f, %array
    : !rise.array<1024, scalar<i32>>
  rise.out %out <- %res
  func.return
}
