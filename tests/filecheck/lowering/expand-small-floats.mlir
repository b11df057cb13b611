// RUN: rise-opt %s -p 'expand-small-floats' | filecheck %s

// Floats of 8 bits are computed as f32, and converted by ops on integers.
// CHECK-LABEL: func.func @sum
// CHECK:         arith.bitcast %x : f8E4M3FN to i8
// CHECK-NOT:     arith.extf
// CHECK:         arith.addf {{.*}} : f32
// CHECK-NOT:     arith.truncf
// CHECK:         [[BYTE:%.*]] = arith.trunci {{.*}} : i32 to i8
// CHECK-NEXT:    arith.bitcast [[BYTE]] : i8 to f8E4M3FN
func.func @sum(%x: f8E4M3FN, %y: f8E4M3FN) -> f8E4M3FN {
  %0 = arith.addf %x, %y : f8E4M3FN
  func.return %0 : f8E4M3FN
}

// So are vectors of them, and conversions.
// CHECK-LABEL: func.func @convert
// CHECK:         arith.bitcast %x : vector<4xf8E5M2> to vector<4xi8>
// CHECK:         arith.truncf {{.*}} : vector<4xf32> to vector<4xf16>
func.func @convert(%x: vector<4xf8E5M2>) -> vector<4xf16> {
  %0 = arith.extf %x : vector<4xf8E5M2> to vector<4xf16>
  func.return %0 : vector<4xf16>
}

// All else stays.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    arith.addf %x, %x : bf16
// CHECK-NEXT:    arith.select %b, %y, %y : f8E5M2
func.func @others(%x: bf16, %y: f8E5M2, %b: i1) -> (bf16, f8E5M2) {
  %0 = arith.addf %x, %x : bf16
  %1 = arith.select %b, %y, %y : f8E5M2
  func.return %0, %1 : bf16, f8E5M2
}
