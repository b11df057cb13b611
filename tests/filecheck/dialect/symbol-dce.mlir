// RUN: rise-opt %s -p symbol-dce | filecheck %s

// Public functions stay, and private ones that they reach, be it from inside an embed.

// CHECK-NOT: @unused
// CHECK-NOT: @onlyByUnused
// CHECK:     func.func private @twice
// CHECK:     func.func private @double
// CHECK:     func.func @program
// CHECK-NOT: @loop
func.func private @unused() {
  func.call @onlyByUnused() : () -> ()
  return
}
func.func private @onlyByUnused() {
  return
}
func.func private @twice(%a : f32) -> f32 {
  %b = func.call @double(%a) : (f32) -> f32
  return %b : f32
}
func.func private @double(%a : f32) -> f32 {
  %b = arith.addf %a, %a : f32
  return %b : f32
}
func.func @program(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %r = func.call @twice(%e) : (f32) -> f32
        rise.return %r : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y = rise.apply %map, %f, %x
    rise.out %out <- %y
  }
  return
}
func.func private @loop() {
  func.call @loop() : () -> ()
  return
}
