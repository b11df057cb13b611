"""Broken StableHLO modules: ops of every kind, also of complex numbers, with tokens changed."""

from __future__ import annotations

import re

from riselang.frontends.stablehlo.registry import supported_op_names
from support.mutation import Language
from support.random_stablehlo import MAKERS, random_case

WORDS = [
    "%0", "%1", "%x", "@main", "@f", "^bb0", "0", "1", "2", "3", "4", "-1", "1024", "1.0", "f32",
    "i32", "f64", "ui8", "ui64", "i1", "bf16", "complex<f32>", "tensor<4xf32>", "tensor<2x2xf32>",
    "tensor<?xf32>", "tensor<0xf32>", "tensor<f32>", "tensor<*xf32>", "tensor<2xcomplex<f32>>",
    "tensor<3xui32>", "tensor<2x!quant.uniform<i8:f32, 0.1>>", "!stablehlo.token",
    "tuple<tensor<f32>>", "index", "dense<0>", "dense<[1, 2]>", 'dense<"0x00">', "array<i64: 0>",
    "array<i64: 1, 2>", "module", "func.func", "return", "private", "call", "func.call", "unit",
    '"stablehlo.add"', "true", "false", "9223372036854775807", "99999999999999999999", "1e999",
    "nan", "0xFF800000", "é", "init", "loc", "stablehlo.fft", "stablehlo.cholesky",
    "stablehlo.triangular_solve", "stablehlo.complex", "stablehlo.real", "stablehlo.imag",
    "stablehlo.custom_call", "stablehlo.all_reduce", "stablehlo.rng",
    "stablehlo.rng_bit_generator", "stablehlo.dynamic_reshape", "chlo.erfc", "chlo.top_k",
    "stablehlo.composite", "stablehlo.infeed", "stablehlo.uniform_quantize",
    *supported_op_names(),
]  # fmt: skip
SIGNS = [
    "(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "=", "->", "%", "@", "#", "!", "^", '"', "//",
    "\n", "?", "-", "x",
]  # fmt: skip
COMPLEX = """func.func @main(%x: tensor<3x4xf32>, %z: tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> {
  %0 = stablehlo.complex %x, %x : tensor<3x4xcomplex<f32>>
  %1 = stablehlo.multiply %0, %z : tensor<3x4xcomplex<f32>>
  %2 = stablehlo.exponential %1 : tensor<3x4xcomplex<f32>>
  %c = stablehlo.constant dense<(1.0, 2.0)> : tensor<3x4xcomplex<f32>>
  %3 = stablehlo.divide %2, %c : tensor<3x4xcomplex<f32>>
  %4 = stablehlo.transpose %3, dims = [1, 0]
       : (tensor<3x4xcomplex<f32>>) -> tensor<4x3xcomplex<f32>>
  %5 = stablehlo.reshape %4 : (tensor<4x3xcomplex<f32>>) -> tensor<3x4xcomplex<f32>>
  %6 = stablehlo.abs %5 : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
  %7 = stablehlo.dot_general %5, %z, contracting_dims = [1] x [1]
       : (tensor<3x4xcomplex<f32>>, tensor<3x4xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  %8 = stablehlo.slice %7 [0:2, 1:3] : (tensor<3x3xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %9 = stablehlo.add %6, %x : tensor<3x4xf32>
  return %9 : tensor<3x4xf32>
}
"""
SOLVED = """func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>, %s: tensor<2xui64>)
    -> (tensor<2x3xf32>, tensor<3x5xui32>, tensor<5xcomplex<f32>>) {
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  %1 = "stablehlo.triangular_solve"(%0, %b) {left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>}
      : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2, %3 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY
      : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  %l = stablehlo.constant dense<[5]> : tensor<1xi64>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.rng %f, %f, %l, distribution = UNIFORM
      : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  %5 = stablehlo.complex %4, %4 : tensor<5xcomplex<f32>>
  %6 = stablehlo.fft %5, type = FFT, length = [5]
       : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return %1, %3, %6 : tensor<2x3xf32>, tensor<3x5xui32>, tensor<5xcomplex<f32>>
}
"""


def texts() -> list[str]:
    """One random case of each op, and those again on complex numbers."""
    plain = [random_case(name, seed).text for name in sorted(MAKERS) for seed in range(2)]
    complex = [text.replace("f32", "complex<f32>") for text in plain]
    return [*plain, *complex, *[COMPLEX] * 10, *[SOLVED] * 5]


STABLEHLO = Language(texts, re.compile(r"\s+|[%#!@^]?[\w.$]+|->|//|.", re.DOTALL), WORDS, SIGNS)
