// RUN: rise-opt %s -p 'outline-gpu-kernels' | filecheck %s

// A number goes from one kernel to the next through memory; the second has threads of all blocks.
// CHECK-LABEL: func.func @scaled
// CHECK:         %[[SUM:.*]] = memref.alloca() {{.*}} : memref<1xf32>
// CHECK:         "gpu.launch_func"({{.*}}, %x, %[[SUM]]) <{kernel = @kernels::@scaled_0
// CHECK:         "gpu.launch_func"({{.*}}, %x, %[[SUM]], %out) <{kernel = @kernels::@scaled_1
// CHECK-NEXT:    func.return
func.func @scaled(%out: memref<600xf32>, %x: memref<600xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c600 = arith.constant 600 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c600 step %c1 iter_args(%a = %zero) -> (f32) {
    %e = memref.load %x[%i] : memref<600xf32>
    %b = arith.addf %e, %a : f32
    scf.yield %b : f32
  }
  "scf.parallel"(%c0, %c600, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %e = memref.load %x[%i] : memref<600xf32>
    %q = arith.divf %e, %sum : f32
    memref.store %q, %out[%i] : memref<600xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: "gpu.module"() <{sym_name = "kernels"}>
// CHECK:         memref.store
// CHECK:       sym_name = "scaled_0",{{.*}} gpu.known_block_size = array<i32: 1, 1, 1>
// CHECK:         gpu.block_id
// CHECK:         gpu.thread_id
// CHECK:         arith.cmpi ult
// CHECK:         scf.if
// CHECK:       sym_name = "scaled_1",{{.*}} gpu.known_block_size = array<i32: 256, 1, 1>, gpu.known_grid_size = array<i32: 3, 1, 1>
