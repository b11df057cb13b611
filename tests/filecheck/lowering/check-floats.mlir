// RUN: rise-opt %s -p check-floats | filecheck %s

// CHECK: rise.float_checks = {{.*}}"divf", 2 : i64, {{.*}}"fma", 3 : i64, {{.*}}"sitofp", 1 : i64,
// CHECK-LABEL: func.func @checked
func.func @checked(%x : f32, %y : f64, %n : i32) -> f64 {
  // CHECK: [[R:%.*]] = arith.divf %x, %x : f32
  // CHECK-NEXT: [[A:%.*]] = math.absf [[R]] : f32
  // CHECK-NEXT: [[INF:%.*]] = arith.constant 0x7f800000 : f32
  // CHECK-NEXT: [[BAD:%.*]] = arith.cmpf uge, [[A]], [[INF]] : f32
  // CHECK-NEXT: scf.if [[BAD]] {
  // CHECK-NEXT:   [[N:%.*]] = arith.constant 0 : i64
  // CHECK-NEXT:   [[X:%.*]] = arith.extf %x : f32 to f64
  // CHECK-NEXT:   [[X2:%.*]] = arith.extf %x : f32 to f64
  // CHECK-NEXT:   [[ZERO:%.*]] = arith.constant 0.000000e+00 : f64
  // CHECK-NEXT:   [[W:%.*]] = arith.extf [[R]] : f32 to f64
  // CHECK-NEXT:   func.call @rise_not_finite([[N]], [[X]], [[X2]], [[ZERO]], [[W]])
  %0 = arith.divf %x, %x : f32
  // CHECK: math.fma
  // CHECK: func.call @rise_not_finite
  %1 = math.fma %y, %y, %y : f64
  // CHECK: arith.sitofp %n : i32 to f64
  // CHECK: func.call @rise_not_finite
  %2 = arith.sitofp %n : i32 to f64
  // Comparisons and selections are not checked.
  // CHECK: arith.cmpf olt
  // CHECK-NEXT: arith.select
  // CHECK-NEXT: func.return
  %3 = arith.cmpf olt, %1, %2 : f64
  %4 = arith.select %3, %1, %2 : f64
  func.return %4 : f64
}
// CHECK: func.func private @rise_not_finite(i64, f64, f64, f64, f64)
