// RUN: rise-opt %s -p 'convert-rise-to-imperative{loops=affine},resolve-rise-access' | filecheck %s

// A lambda that gives an array and is applied twice is one function, which fills the buffers it is given.
// CHECK-LABEL: func.func @scaled
// CHECK-NEXT:    [[TWO:%\w+]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:    func.call @rise_small_function_0(%first, %x, [[TWO]]) : (memref<4xf32>, memref<4xf32>, f32) -> ()
// CHECK-NEXT:    [[THREE:%\w+]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT:    func.call @rise_small_function_0(%second, %y, [[THREE]]) : (memref<4xf32>, memref<4xf32>, f32) -> ()
// CHECK-NEXT:    func.return
func.func @scaled(%first: memref<4xf32>, %second: memref<4xf32>, %x: memref<4xf32>, %y: memref<4xf32>) {
  rise.lowering_unit {
    %xs = rise.in %x : !rise.array<4, scalar<f32>>
    %ys = rise.in %y : !rise.array<4, scalar<f32>>
    %scale = rise.lambda (%zs : !rise.array<4, scalar<f32>>, %s : !rise.scalar<f32>) -> !rise.array<4, scalar<f32>> {
      %map = rise.map #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
      %f = rise.lambda (%z : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %p = rise.embed(%z, %s) {
          %p = arith.mulf %z, %s : f32
          rise.return %p : f32
        } : !rise.scalar<f32>
        rise.return %p : !rise.scalar<f32>
      }
      %scaled = rise.apply %map, %f, %zs
      rise.return %scaled : !rise.array<4, scalar<f32>>
    }
    %two = rise.literal #rise.lit<2.000000e+00>
    %a = rise.apply %scale, %xs, %two
    %three = rise.literal #rise.lit<3.000000e+00>
    %b = rise.apply %scale, %ys, %three
    rise.out %first <- %a
    rise.out %second <- %b
  }
  func.return
}

// What one call gives is what the next one takes. The last result is complete before it is copied to
// the buffer that the program reads.
// CHECK-LABEL: func.func @in_place
// CHECK:         func.call @rise_small_function_1([[ONCE:%\w+]], %x) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT:    func.call @rise_small_function_1([[TWICE:%\w+]], [[ONCE]]) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK:         load [[TWICE]]
// CHECK-NEXT:    store {{%\w+}}, %x
// CHECK:         func.return
func.func @in_place(%x: memref<4xf32>) {
  rise.lowering_unit {
    %xs = rise.in %x : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%zs : !rise.array<4, scalar<f32>>) -> !rise.array<4, scalar<f32>> {
      %scan = rise.scan #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
      %add = rise.lambda (%e : !rise.scalar<f32>, %a : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %s = rise.embed(%e, %a) {
          %s = arith.addf %e, %a : f32
          rise.return %s : f32
        } : !rise.scalar<f32>
        rise.return %s : !rise.scalar<f32>
      }
      %zero = rise.literal #rise.lit<0.000000e+00>
      %sums = rise.apply %scan, %add, %zero, %zs
      rise.return %sums : !rise.array<4, scalar<f32>>
    }
    %once = rise.apply %f, %xs
    %twice = rise.apply %f, %once
    rise.out %x <- %twice
  }
  func.return
}

// A function is made once, and nothing else is in the buffer that it fills.
// CHECK:       func.func private @rise_small_function_0([[OUT:%\w+]]: memref<4xf32> {llvm.noalias}, [[IN:%\w+]]: memref<4xf32>, [[S:%\w+]]: f32)
// CHECK-NEXT:    affine.for [[I:%\w+]] = 0 to 4 {
// CHECK-NEXT:      [[Z:%\w+]] = affine.load [[IN]]{{.}}[[I]]{{.}} : memref<4xf32>
// CHECK-NEXT:      [[P:%\w+]] = arith.mulf [[Z]], [[S]] : f32
// CHECK-NEXT:      affine.store [[P]], [[OUT]]{{.}}[[I]]{{.}} : memref<4xf32>
// CHECK:       func.func private @rise_small_function_1
// CHECK-NOT:   func.func
