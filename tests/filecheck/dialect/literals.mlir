// RUN: rise-opt %s | rise-opt | filecheck %s
// RUN: rise-opt %s --print-op-generic | rise-opt | filecheck %s

// CHECK: rise.literal #rise.lit<0.000000e+00>
%0 = rise.literal #rise.lit<0.0>
// CHECK: rise.literal #rise.lit<-0.000000e+00, scalar<f64>>
%1 = rise.literal #rise.lit<-0.0, scalar<f64>>
// CHECK: rise.literal #rise.lit<0x7f800000>
%2 = rise.literal #rise.lit<0x7F800000>
// CHECK: rise.literal #rise.lit<0x7e00, scalar<f16>>
%3 = rise.literal #rise.lit<0x7E00, scalar<f16>>
// CHECK: rise.literal #rise.lit<0xff80, scalar<bf16>>
%4 = rise.literal #rise.lit<0xff80, scalar<bf16>>
// CHECK: rise.literal #rise.lit<-1, scalar<i1>>
%5 = rise.literal #rise.lit<true, scalar<i1>>
// CHECK: rise.literal #rise.lit<-128, scalar<i8>>
%6 = rise.literal #rise.lit<-128, scalar<i8>>
// CHECK: rise.literal #rise.lit<-7, scalar<i16>>
%7 = rise.literal #rise.lit<-7, scalar<i16>>
// CHECK: rise.literal #rise.lit<42, scalar<i32>>
%8 = rise.literal #lit<42, scalar<i32>>
// CHECK: rise.literal #rise.lit<9223372036854775807, scalar<i64>>
%9 = rise.literal #rise.lit<9223372036854775807, scalar<i64>>
// CHECK: rise.literal #rise.lit<3, scalar<index>>
%10 = rise.literal #rise.lit<3, scalar<index>>
// CHECK: rise.literal #rise.lit<[1.000000e+00, -0.000000e+00, 0x7f800000]>
%11 = rise.literal #rise.lit<[1.0, -0.0, 0x7F800000]>
// CHECK: rise.literal #rise.lit<{{\[\[}}1, 2], [3, -4]], scalar<i64>>
%12 = rise.literal #lit<[[1, 2], [3, -4]], scalar<i64>>
// CHECK: rise.literal #rise.lit<[-1, 0], scalar<i1>>
%13 = rise.literal #rise.lit<[true, false], scalar<i1>>
