// RUN: rise-opt %s | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | rise-opt | filecheck %s

// CHECK: %map = rise.map #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%map = rise.map #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %mapSeq = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%mapSeq = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %mapPar = rise.mapPar #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%mapPar = rise.mapPar #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %reduce = rise.reduce #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%reduce = rise.reduce #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %reduceSeq = rise.reduceSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%reduceSeq = rise.reduceSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %zip = rise.zip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%zip = rise.zip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %unzip = rise.unzip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%unzip = rise.unzip #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %tuple = rise.tuple #rise.scalar<f32> #rise.scalar<i32>
%tuple = rise.tuple #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %fst = rise.fst #rise.scalar<f32> #rise.scalar<i32>
%fst = rise.fst #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %snd = rise.snd #rise.scalar<f32> #rise.scalar<i32>
%snd = rise.snd #rise.scalar<f32> #rise.scalar<i32>
// CHECK: %split = rise.split #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
%split = rise.split #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
// CHECK: %join = rise.join #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
%join = rise.join #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
// CHECK: %transpose = rise.transpose #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
%transpose = rise.transpose #rise.nat<3> #rise.nat<4> #rise.scalar<f32>
// CHECK: %slide = rise.slide #rise.nat<4> #rise.nat<3> #rise.nat<2> #rise.scalar<f32>
%slide = rise.slide #rise.nat<4> #rise.nat<3> #rise.nat<2> #rise.scalar<f32>
// CHECK: %pad = rise.pad #rise.nat<4> #rise.nat<1> #rise.nat<2> #rise.scalar<f32>
%pad = rise.pad #rise.nat<4> #rise.nat<1> #rise.nat<2> #rise.scalar<f32>
// CHECK: %mapScf = rise.map {to = "scf"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%mapScf = rise.map {to = "scf"} #nat<4> #scalar<f32> #scalar<i32>
// CHECK: %mapSeqScf = rise.mapSeq {to = "scf"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%mapSeqScf = rise.mapSeq {to = "scf"} #nat<4> #scalar<f32> #scalar<i32>
// CHECK: %mapParScf = rise.mapPar {to = "scf"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%mapParScf = rise.mapPar {to = "scf"} #nat<4> #scalar<f32> #scalar<i32>
// CHECK: %reduceScf = rise.reduce {to = "scf"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%reduceScf = rise.reduce {to = "scf"} #nat<4> #scalar<f32> #scalar<i32>
// CHECK: %reduceSeqScf = rise.reduceSeq {to = "scf"} #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>
%reduceSeqScf = rise.reduceSeq {to = "scf"} #nat<4> #scalar<f32> #scalar<i32>
// CHECK: %symbolic = rise.split #rise.nat<4> #rise.nat<N * 2 + 1> #rise.array<M, scalar<f32>>
%symbolic = rise.split #rise.nat<4> #rise.nat<1 + 2 * N> #rise.array<M, scalar<f32>>
