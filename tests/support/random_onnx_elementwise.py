"""The makers of random elementwise nodes."""

from __future__ import annotations

import numpy as np

from support.random_onnx import Maker, Unfit, makes, onnx

SMOOTH = (
    "Abs", "Acosh", "Asinh", "Atan", "Cos", "Cosh", "Elu", "Celu", "Erf", "Exp", "Gelu",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Selu",
    "Sigmoid", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tanh", "Tan", "Identity", "Dropout",
)  # fmt: skip
STEPS = ("Ceil", "Floor", "Round", "Sign", "IsNaN", "IsInf", "Shrink", "ThresholdedRelu")


@makes
def make_unary(m: Maker) -> None:
    op = m.random.choice(SMOOTH)
    m.node(op, [m.pick()], exact=op in ("Abs", "Neg", "Relu", "Identity", "Dropout"))


@makes
def make_bounded(m: Maker) -> None:
    """Inverse functions, of numbers in their domain."""
    x = m.node("Mul", [x := m.pick(exact=True), m.weight(np.asarray(0.125, x.array.dtype))])[0]
    if np.any(np.abs(x.array) >= 1):
        raise Unfit
    m.node(m.random.choice(("Acos", "Asin", "Atanh")), [x])


@makes
def make_steps(m: Maker) -> None:
    m.node(m.random.choice(STEPS), [m.pick(exact=True)], exact=True)


@makes
def make_arithmetic(m: Maker) -> None:
    x = m.pick("fi")
    operands = [x, m.like(x)]
    m.random.shuffle(operands)
    m.node(m.random.choice(("Add", "Sub", "Mul")), operands, exact=True)


@makes
def make_division(m: Maker) -> None:
    x = m.pick("fi")
    divisor = m.array(m.shape(m.random.randint(0, x.array.ndim)), x.array.dtype)
    shape = x.shape[x.array.ndim - divisor.ndim :]
    divisor = m.array(shape, x.array.dtype)
    divisor = np.where(divisor == 0, divisor.dtype.type(2), divisor).astype(divisor.dtype)
    if not x.is_float and m.random.random() < 0.5:
        m.node("Mod", [x, m.new(divisor)], fmod=m.random.randint(0, 1))
    elif x.is_float and x.exact and m.random.random() < 0.3:
        m.node("Mod", [x, m.new(divisor)], fmod=1)
    else:
        m.node("Div", [x, m.new(divisor)])


@makes
def make_power(m: Maker) -> None:
    # Roots of rounding errors below zero would be NaN.
    x = m.pick(exact=True)
    exponent = m.random.choice((0.5, 1.0, 1.5, 2.0, 3.0, -1.0))
    dtype = m.random.choice((x.array.dtype, np.dtype(np.float32)))
    m.node("Pow", [x, m.weight(np.asarray(exponent, dtype))])


@makes
def make_variadic(m: Maker) -> None:
    x = m.pick()
    parts = [x, *(m.like(x) for _ in range(m.random.randint(0, 2)))]
    m.node(m.random.choice(("Max", "Min", "Sum", "Mean")), parts)


@makes
def make_comparison(m: Maker) -> None:
    x = m.pick("fi", exact=True)
    other = m.like(x)
    if not other.exact:
        raise Unfit
    ops = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
    m.node(m.random.choice(ops), [x, other])


@makes
def make_logic(m: Maker) -> None:
    x = m.pick("b")
    m.node(m.random.choice(("And", "Or", "Xor")), [x, m.like(x)])
    m.node("Not", [x])


@makes
def make_bits(m: Maker) -> None:
    x = m.pick("iu")
    m.node(m.random.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), [x, m.like(x)])
    if x.array.dtype == np.uint8:
        shift = m.new(m.array(x.shape, np.uint8, 0))
        m.node("BitShift", [x, shift], direction=m.random.choice(("LEFT", "RIGHT")))


@makes
def make_where(m: Maker) -> None:
    c = m.pick("b")
    shape = list(c.shape)
    x = m.new(m.array(shape, m.random.choice((np.float32, np.int64, np.float64))))
    m.node("Where", [c, x, m.like(x)], exact=True)


@makes
def make_clip(m: Maker) -> None:
    x = m.pick("fi")
    low, high = (
        m.weight(np.asarray(n, x.array.dtype)) for n in sorted(m.random.sample(range(-3, 5), 2))
    )
    m.node("Clip", [x, m.random.choice((low, None)), m.random.choice((high, None))], exact=True)


@makes
def make_cast(m: Maker) -> None:
    x = m.pick("fibu", exact=True)
    types = ("FLOAT", "DOUBLE", "INT32", "INT64", "INT8", "BOOL", "UINT8", "FLOAT16")
    name = m.random.choice(types)
    if x.is_float and (np.any(np.abs(x.array) > 120) or (name == "UINT8" and np.any(x.array < 0))):
        raise Unfit
    found = m.node("Cast", [x], to=onnx().TensorProto.DataType.Value(name), exact=True)[0]
    if name == "FLOAT16":
        m.node("Cast", [found], to=onnx().TensorProto.FLOAT, exact=True)
        m.values.remove(found)
