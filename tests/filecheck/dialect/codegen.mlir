// RUN: rise-opt %s | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | rise-opt | filecheck %s

// CHECK-LABEL: func.func @case0()
func.func @case0() {
  %m = "test.op"() : () -> memref<4xf32>
  // CHECK: %0 = rise.codegen.cast %m : memref<4xf32> -> !rise.array<4, scalar<f32>>
  %0 = rise.codegen.cast %m : memref<4xf32> -> !rise.array<4, scalar<f32>>
  func.return
}

// CHECK-LABEL: func.func @case1()
func.func @case1() {
  %a = "test.op"() : () -> memref<4xf32>
  %b = "test.op"() : () -> memref<4xi32>
  // CHECK: %0 = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  %0 = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  func.return
}

// CHECK-LABEL: func.func @case2()
func.func @case2() {
  %x = "test.op"() : () -> f32
  // CHECK: %0 = rise.codegen.cast %x : f32 -> !rise.scalar<f32>
  %0 = rise.codegen.cast %x : f32 -> !rise.scalar<f32>
  func.return
}

// CHECK-LABEL: func.func @case3()
func.func @case3() {
  %x = "test.op"() : () -> !rise.scalar<f32>
  // CHECK: %0 = rise.codegen.cast %x : !rise.scalar<f32> -> f32
  %0 = rise.codegen.cast %x : !rise.scalar<f32> -> f32
  func.return
}

// CHECK-LABEL: func.func @case4()
func.func @case4() {
  %m = "test.op"() : () -> memref<1xf32>
  // CHECK: %0 = rise.codegen.cast %m : memref<1xf32> -> !rise.scalar<f32>
  %0 = rise.codegen.cast %m : memref<1xf32> -> !rise.scalar<f32>
  func.return
}

// CHECK-LABEL: func.func @case5()
func.func @case5() {
  %a = "test.op"() : () -> !rise.array<3, array<4, scalar<f32>>>
  %i = "test.op"() : () -> index
  // CHECK: %0 = rise.codegen.idx %a, %i : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, scalar<f32>>
  %0 = rise.codegen.idx %a, %i : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, scalar<f32>>
  func.return
}

// CHECK-LABEL: func.func @case6()
func.func @case6() {
  %a = "test.op"() : () -> !rise.array<4, scalar<f32>>
  %b = "test.op"() : () -> !rise.array<4, scalar<i32>>
  // CHECK: %0 = rise.codegen.zip %a, %b : !rise.array<4, scalar<f32>>, !rise.array<4, scalar<i32>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  %0 = rise.codegen.zip %a, %b : !rise.array<4, scalar<f32>>, !rise.array<4, scalar<i32>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  func.return
}

// CHECK-LABEL: func.func @case7()
func.func @case7() {
  %a = "test.op"() : () -> !rise.scalar<f32>
  %b = "test.op"() : () -> !rise.scalar<i32>
  // CHECK: %0 = rise.codegen.tuple %a, %b : !rise.scalar<f32>, !rise.scalar<i32> -> !rise.tuple<scalar<f32>, scalar<i32>>
  %0 = rise.codegen.tuple %a, %b : !rise.scalar<f32>, !rise.scalar<i32> -> !rise.tuple<scalar<f32>, scalar<i32>>
  func.return
}

// CHECK-LABEL: func.func @case8()
func.func @case8() {
  %p = "test.op"() : () -> !rise.tuple<scalar<f32>, scalar<i32>>
  // CHECK: %0 = rise.codegen.fst %p : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
  %0 = rise.codegen.fst %p : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<f32>
  func.return
}

// CHECK-LABEL: func.func @case9()
func.func @case9() {
  %p = "test.op"() : () -> !rise.tuple<scalar<f32>, scalar<i32>>
  // CHECK: %0 = rise.codegen.snd %p : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
  %0 = rise.codegen.snd %p : !rise.tuple<scalar<f32>, scalar<i32>> -> !rise.scalar<i32>
  func.return
}

// CHECK-LABEL: func.func @case10()
func.func @case10() {
  %p = "test.op"() : () -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  // CHECK: %0 = rise.codegen.unzip %p : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
  %0 = rise.codegen.unzip %p : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
  func.return
}

// CHECK-LABEL: func.func @case11()
func.func @case11() {
  %p = "test.op"() : () -> !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>
  // CHECK: %0 = rise.codegen.unzipAcc %p : !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  %0 = rise.codegen.unzipAcc %p : !rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>> -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  func.return
}

// CHECK-LABEL: func.func @case12()
func.func @case12() {
  %a = "test.op"() : () -> !rise.array<12, scalar<f32>>
  // CHECK: %0 = rise.codegen.split %a : !rise.array<12, scalar<f32>> -> !rise.array<3, array<4, scalar<f32>>>
  %0 = rise.codegen.split %a : !rise.array<12, scalar<f32>> -> !rise.array<3, array<4, scalar<f32>>>
  func.return
}

// CHECK-LABEL: func.func @case13()
func.func @case13() {
  %a = "test.op"() : () -> !rise.array<3, array<4, scalar<f32>>>
  // CHECK: %0 = rise.codegen.splitAcc %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  %0 = rise.codegen.splitAcc %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  func.return
}

// CHECK-LABEL: func.func @case14()
func.func @case14() {
  %a = "test.op"() : () -> !rise.array<3, array<4, scalar<f32>>>
  // CHECK: %0 = rise.codegen.join %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  %0 = rise.codegen.join %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<12, scalar<f32>>
  func.return
}

// CHECK-LABEL: func.func @case15()
func.func @case15() {
  %a = "test.op"() : () -> !rise.array<12, scalar<f32>>
  // CHECK: %0 = rise.codegen.joinAcc %a : !rise.array<12, scalar<f32>> -> !rise.array<3, array<4, scalar<f32>>>
  %0 = rise.codegen.joinAcc %a : !rise.array<12, scalar<f32>> -> !rise.array<3, array<4, scalar<f32>>>
  func.return
}

// CHECK-LABEL: func.func @case16()
func.func @case16() {
  %a = "test.op"() : () -> !rise.array<3, array<4, scalar<f32>>>
  // CHECK: %0 = rise.codegen.transpose %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  %0 = rise.codegen.transpose %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  func.return
}

// CHECK-LABEL: func.func @case17()
func.func @case17() {
  %a = "test.op"() : () -> !rise.array<3, array<4, scalar<f32>>>
  // CHECK: %0 = rise.codegen.transposeAcc %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  %0 = rise.codegen.transposeAcc %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<4, array<3, scalar<f32>>>
  func.return
}

// CHECK-LABEL: func.func @case18()
func.func @case18() {
  %a = "test.op"() : () -> !rise.array<9, scalar<f32>>
  // CHECK: %0 = rise.codegen.slide %a step <2> : !rise.array<9, scalar<f32>> -> !rise.array<4, array<3, scalar<f32>>>
  %0 = rise.codegen.slide %a step <2> : !rise.array<9, scalar<f32>> -> !rise.array<4, array<3, scalar<f32>>>
  func.return
}

// CHECK-LABEL: func.func @case19()
func.func @case19() {
  %a = "test.op"() : () -> !rise.array<4, scalar<f32>>
  // CHECK: %0 = rise.codegen.pad %a left <1> : !rise.array<4, scalar<f32>> -> !rise.array<7, scalar<f32>>
  %0 = rise.codegen.pad %a left <1> : !rise.array<4, scalar<f32>> -> !rise.array<7, scalar<f32>>
  func.return
}

// CHECK-LABEL: func.func @case20()
func.func @case20() {
  %p = "test.op"() : () -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  // CHECK: %0 = rise.codegen.zipAcc1 %p : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<f32>>
  %0 = rise.codegen.zipAcc1 %p : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<f32>>
  func.return
}

// CHECK-LABEL: func.func @case21()
func.func @case21() {
  %p = "test.op"() : () -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
  // CHECK: %0 = rise.codegen.zipAcc2 %p : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<i32>>
  %0 = rise.codegen.zipAcc2 %p : !rise.array<4, tuple<scalar<f32>, scalar<i32>>> -> !rise.array<4, scalar<i32>>
  func.return
}

// CHECK-LABEL: func.func @case22()
func.func @case22() {
  %a = "test.op"() : () -> !rise.array<3, array<4, scalar<f32>>>
  // CHECK: %0 = rise.codegen.mapread %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<3, array<4, scalar<f32>>> {
  %0 = rise.codegen.mapread %a : !rise.array<3, array<4, scalar<f32>>> -> !rise.array<3, array<4, scalar<f32>>> {
  ^bb0(%x: !rise.array<4, scalar<f32>>):
    rise.return %x : !rise.array<4, scalar<f32>>
  }
  func.return
}

// CHECK-LABEL: func.func @case23()
func.func @case23() {
  %a = "test.op"() : () -> !rise.scalar<f32>
  %b = "test.op"() : () -> !rise.scalar<f32>
  // CHECK: rise.codegen.assign %a, %b : !rise.scalar<f32>, !rise.scalar<f32>
  rise.codegen.assign %a, %b : !rise.scalar<f32>, !rise.scalar<f32>
  func.return
}
