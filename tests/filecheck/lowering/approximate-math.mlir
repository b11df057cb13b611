// RUN: rise-opt %s -p 'approximate-math' | filecheck %s

// Numbers and vectors of f32 become arithmetic.
// CHECK-LABEL: func.func @single
// CHECK-NOT:     math.exp
// CHECK:         arith.mulf {{.*}} fastmath<contract> : f32
// CHECK-NOT:     math.exp
// CHECK:         arith.mulf {{.*}} fastmath<contract> : vector<4xf32>
// CHECK:         arith.select {{.*}} : vector<4xi1>, vector<4xf32>
// CHECK-NOT:     math.exp
// CHECK:         func.return
func.func @single(%x: f32, %v: vector<4xf32>) -> (f32, vector<4xf32>) {
  %0 = math.exp %x : f32
  %1 = math.exp %v : vector<4xf32>
  func.return %0, %1 : f32, vector<4xf32>
}

// All else stays.
// CHECK-LABEL: func.func @others
// CHECK:         math.exp %x : f64
// CHECK-NEXT:    math.sin %y : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.sin %y : f32
  func.return %0, %1 : f64, f32
}
