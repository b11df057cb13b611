// RUN: rise-opt %s -p poll-signals | filecheck %s

// A loop of short iterations is cut; a short one is left as it is.

// CHECK-LABEL: func.func @cut
// CHECK: affine.for %[[START:.*]] = 0 to 20000000000 step
// CHECK-NEXT: arith.constant 1048576 : i64
// CHECK-NEXT: func.call @rise_poll
// CHECK-NEXT: affine.for {{.*}} to min
func.func @cut(%out: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %i = 0 to 20000000000 iter_args(%s = %zero) -> (f32) {
    %one = arith.constant 1.0 : f32
    %next = arith.addf %s, %one : f32
    affine.yield %next : f32
  }
  affine.store %sum, %out[] : memref<f32>
  return
}

// CHECK-LABEL: func.func @short
// CHECK-NOT: rise_poll
// CHECK: func.return
func.func @short(%out: memref<100xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 100 {
    affine.store %zero, %out[%i] : memref<100xf32>
  }
  return
}

// The bound of a loop over tiles is estimated as a fraction of the size.

// CHECK-LABEL: func.func @tiles
// CHECK: affine.for
// CHECK-NEXT: arith.constant
// CHECK-NEXT: func.call @rise_poll
// CHECK-NEXT: affine.for
// CHECK-NEXT: affine.for
// CHECK-NEXT: affine.for
// CHECK-NOT: rise_poll
// CHECK: func.return
func.func @tiles(%out: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %planes = memref.dim %out, %c0 : memref<?x?x?xf32>
  %rows = memref.dim %out, %c1 : memref<?x?x?xf32>
  %columns = memref.dim %out, %c2 : memref<?x?x?xf32>
  %tiles = arith.divui %columns, %c32 : index
  affine.for %i = 0 to %planes {
    affine.for %j = 0 to %rows {
      affine.for %k = 0 to %tiles {
        affine.for %l = 0 to 200 {
          %x = affine.load %out[%i, %j, %k] : memref<?x?x?xf32>
          affine.store %x, %out[%i, %j, %k] : memref<?x?x?xf32>
        }
      }
    }
  }
  return
}

// A loop of long iterations polls in each.

// CHECK-LABEL: func.func @nest
// CHECK: scf.for
// CHECK-NEXT: arith.constant
// CHECK-NEXT: func.call @rise_poll
// CHECK-NEXT: scf.for
func.func @nest(%out: memref<100000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %x = memref.load %out[%j] : memref<100000xf32>
      memref.store %x, %out[%i] : memref<100000xf32>
    }
  }
  return
}

// Nobody knows when a while loop ends: it counts its iterations.

// CHECK-LABEL: func.func @endless
// CHECK: scf.while ({{.*}}, %[[COUNT:.*]] = {{.*}}) : (f32, i64) -> (f32, i64)
// CHECK: arith.constant 4095 : i64
// CHECK: scf.if
// CHECK: func.call @rise_poll
func.func @endless(%out: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %last = scf.while (%x = %zero) : (f32) -> f32 {
    %one = arith.constant 1.0 : f32
    %more = arith.cmpf olt, %x, %one : f32
    scf.condition(%more) %x : f32
  } do {
  ^bb0(%y: f32):
    scf.yield %y : f32
  }
  memref.store %last, %out[] : memref<f32>
  return
}

// The iterations of a parallel loop share a flag.

// CHECK-LABEL: func.func @parallel
// CHECK: %[[FLAG:.*]] = memref.alloca() : memref<1xi8>
// CHECK: affine.parallel
// CHECK: %[[STOPS:.*]] = func.call @rise_poll_parallel
// CHECK: scf.if
// CHECK: func.call @rise_stop
func.func @parallel(%out: memref<100000xf32>) {
  affine.parallel (%i) = (0) to (100000) {
    affine.for %j = 0 to 100000 {
      %x = affine.load %out[%j] : memref<100000xf32>
      affine.store %x, %out[%i] : memref<100000xf32>
    }
  }
  return
}

// The flag is part of the stack frame, also if the loop runs under a condition.

// CHECK-LABEL: func.func @guarded
// CHECK-NEXT: memref.alloca() : memref<1xi8>
// CHECK: scf.if
// CHECK: memref.store
// CHECK: affine.parallel
func.func @guarded(%out: memref<100000xf32>, %large: i1) {
  scf.if %large {
    affine.parallel (%i) = (0) to (100000) {
      affine.for %j = 0 to 100000 {
        %x = affine.load %out[%j] : memref<100000xf32>
        affine.store %x, %out[%i] : memref<100000xf32>
      }
    }
  }
  return
}

// What the iterations of a parallel loop call cannot be left.

// CHECK-LABEL: func.func private @shared
// CHECK-NOT: rise_poll
// CHECK: func.return
func.func private @shared(%out: memref<100000xf32>) {
  affine.for %i = 0 to 100000 {
    affine.for %j = 0 to 100000 {
      %x = affine.load %out[%j] : memref<100000xf32>
      affine.store %x, %out[%i] : memref<100000xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @calls
// CHECK: affine.parallel
// CHECK: func.call @rise_poll_parallel
// CHECK: func.call @shared
func.func @calls(%out: memref<100000xf32>) {
  affine.parallel (%i) = (0) to (4) {
    func.call @shared(%out) : (memref<100000xf32>) -> ()
  }
  return
}

// CHECK: func.func private @rise_poll(i64)
