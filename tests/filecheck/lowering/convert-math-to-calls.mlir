// RUN: rise-opt %s -p convert-math-to-calls | filecheck %s

// CHECK-LABEL: func.func @single
func.func @single(%x : f32, %y : f32) -> f32 {
  // CHECK-NEXT: [[E:%.*]] = func.call @expf(%x) : (f32) -> f32
  %0 = math.exp %x : f32
  // CHECK-NEXT: [[P:%.*]] = func.call @powf([[E]], %y) : (f32, f32) -> f32
  %1 = math.powf %0, %y : f32
  // CHECK-NEXT: func.return [[P]] : f32
  func.return %1 : f32
}

// CHECK-LABEL: func.func @double
func.func @double(%x : f64) -> f64 {
  // CHECK-NEXT: [[S:%.*]] = func.call @sin(%x) : (f64) -> f64
  %0 = math.sin %x : f64
  // CHECK-NEXT: func.return [[S]] : f64
  func.return %0 : f64
}

// Half precision is computed in single precision and rounded.
// CHECK-LABEL: func.func @half
func.func @half(%x : f16) -> f16 {
  // CHECK-NEXT: [[W:%.*]] = arith.extf %x : f16 to f32
  // CHECK-NEXT: [[T:%.*]] = func.call @tanhf([[W]]) : (f32) -> f32
  // CHECK-NEXT: [[N:%.*]] = arith.truncf [[T]] : f32 to f16
  // CHECK-NEXT: func.return [[N]] : f16
  %0 = math.tanh %x : f16
  func.return %0 : f16
}

// What the processor computes exactly stays.
// CHECK-LABEL: func.func @exact
func.func @exact(%x : f32) -> f32 {
  // CHECK-NEXT: math.sqrt %x
  // CHECK-NEXT: math.floor
  // CHECK-NEXT: math.fma
  // CHECK-NEXT: math.absf
  %0 = math.sqrt %x : f32
  %1 = math.floor %0 : f32
  %2 = math.fma %0, %1, %x : f32
  %3 = math.absf %2 : f32
  func.return %3 : f32
}

// CHECK: func.func private @expf(f32) -> f32
// CHECK-NEXT: func.func private @powf(f32, f32) -> f32
// CHECK-NEXT: func.func private @sin(f64) -> f64
// CHECK-NEXT: func.func private @tanhf(f32) -> f32
