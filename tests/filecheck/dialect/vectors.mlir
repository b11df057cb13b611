// RUN: rise-opt %s | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | rise-opt | filecheck %s

// CHECK-LABEL: func.func @chosen
// CHECK:         [[R:%\w+]] = rise.embed([[V:%\w+]]) {
// CHECK-NEXT:      [[I:%\w+]] = arith.fptosi [[V]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT:      [[F:%\w+]] = arith.sitofp [[I]] : vector<4xi32> to vector<4xf32>
// CHECK-NEXT:      [[C:%\w+]] = arith.cmpf olt, [[F]], [[V]] : vector<4xf32>
// CHECK-NEXT:      [[S:%\w+]] = arith.select [[C]], [[V]], [[F]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:      rise.return [[S]] : vector<4xf32>
// CHECK-NEXT:    } : !rise.vector<4, scalar<f32>>
func.func @chosen(%out: memref<4xf32>, %in: memref<4xf32>) {
  %v = rise.in %in : !rise.vector<4, scalar<f32>>
  %r = rise.embed(%v) {
    %i = arith.fptosi %v : vector<4xf32> to vector<4xi32>
    %f = arith.sitofp %i : vector<4xi32> to vector<4xf32>
    %c = arith.cmpf olt, %f, %v : vector<4xf32>
    %s = arith.select %c, %v, %f : vector<4xi1>, vector<4xf32>
    rise.return %s : vector<4xf32>
  } : !rise.vector<4, scalar<f32>>
  rise.out %out <- %r
  return
}
