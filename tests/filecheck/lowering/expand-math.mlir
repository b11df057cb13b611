// RUN: rise-opt %s -p expand-math | filecheck %s

// CHECK-LABEL: @scalar
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: math.fma
// CHECK-NOT: math.exp
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK-NEXT: func.return
func.func @scalar(%x: f32) -> f32 {
  %e = math.exp %x : f32
  func.return %e : f32
}

// Large angles are reduced in a branch.
// CHECK-LABEL: @lanes
// CHECK: vector.extract %{{.*}}[0]
// CHECK: scf.if
// CHECK: arith.mului_extended
// CHECK: vector.insert %{{.*}}[1]
func.func @lanes(%x: vector<2xf64>) -> vector<2xf64> {
  %s = math.sin %x : vector<2xf64>
  func.return %s : vector<2xf64>
}
