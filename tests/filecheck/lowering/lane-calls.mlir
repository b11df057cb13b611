// RUN: rise-opt %s -p convert-math-to-calls | filecheck %s

// A function of vectors calls the library for each lane, in one function for each vector type.
func.func @f(%v : vector<4xf32>, %w : vector<4xf32>) -> vector<4xf32> {
  %0 = math.powf %v, %w : vector<4xf32>
  %1 = math.powf %0, %w : vector<4xf32>
  %2 = math.sqrt %1 : vector<4xf32>
  func.return %2 : vector<4xf32>
}

// CHECK:      func.func @f([[V:%\w+]]: vector<4xf32>, [[W:%\w+]]: vector<4xf32>) -> vector<4xf32> {
// CHECK-NEXT:   [[P:%\w+]] = func.call @rise_lanes_powf_4([[V]], [[W]]) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT:   [[Q:%\w+]] = func.call @rise_lanes_powf_4([[P]], [[W]]) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT:   [[R:%\w+]] = math.sqrt [[Q]] : vector<4xf32>
// CHECK-NEXT:   func.return [[R]] : vector<4xf32>
// CHECK:      func.func private @powf(f32, f32) -> f32
// CHECK-NEXT: func.func private @rise_lanes_powf_4([[A:%\w+]]: vector<4xf32>, [[B:%\w+]]: vector<4xf32>) -> vector<4xf32> {
// CHECK:        [[X:%\w+]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:   vector.store [[A]], [[X]]
// CHECK:        [[Y:%\w+]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:   vector.store [[B]], [[Y]]
// CHECK:        scf.for
// CHECK:          func.call @powf
// CHECK-NOT:  rise_lanes
