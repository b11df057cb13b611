"""The derivative of every scalar operation and every pattern, against differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.autodiff import differentiation as differentiation
from riselang.autodiff import forward, reverse
from riselang.autodiff.differentiation import forward_term, reverse_term
from riselang.autodiff.marks import MARKS
from riselang.autodiff.scalar_derivatives import CONSTANT_OPS, PARTIALS
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import uncurry
from riselang.notation.program import parse_term
from riselang.term.scalar_ops import OVERLOADS, SCALAR_OPS
from support.derivatives import Derivatives, random_buffers

m = rl.math
UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "erf", "cbrt", "sqrt", "floor", "ceil", "trunc", "round",
    "roundeven",
)  # fmt: skip
BINARY: Mapping[str, Any] = {
    "add": rl.add, "sub": rl.sub, "mult": rl.mult, "div": rl.div, "max": rl.max, "min": rl.min,
    "pow": m.pow, "atan2": m.atan2, "copysign": m.copysign,
}  # fmt: skip


def squares(bound: int) -> Any:
    """Indices of which some are equal."""
    return rl.generate(lambda i: rl.clamp_idx(bound, rl.from_idx(i) * rl.from_idx(i)), n=5)


def product(xs: Any) -> Any:
    return xs | rl.reduce(rl.mult, 1.0)


def sines(xs: Any) -> Any:
    return xs | rl.map(m.sin)


def rows_of_sines(xs: Any) -> Any:
    return xs | rl.map(sines)


Case = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]
"""A function, and the shapes of its arguments, which are positive."""
SCALARS: dict[str, Case] = {
    **{name: (lambda x, name=name: getattr(m, name)(x), ((),)) for name in UNARY},
    **{name: (lambda x, y, f=f: f(x, y), ((), ())) for name, f in BINARY.items()},
    "abs": (lambda x: rl.abs(x - 0.5), ((),)),
    "neg": (lambda x: -x, ((),)),
    "fma": (lambda x, y: m.fma(x, y, x), ((), ())),
    "power of 2": (lambda x: x**2.0 + x**3.0, ((),)),
    "select": (lambda x, y: rl.where(x < y, x * y, m.exp(x)), ((), ())),
}
CASES: dict[str, Case] = {
    "map": (lambda x, w: x | rl.map(lambda a: w * m.sin(a * w)), ((3,), ())),
    "nested maps": (
        lambda x, w: x | rl.map(lambda r: r | rl.map(lambda a: sines(w * a).sum())),
        ((3, 2), (4,)),
    ),
    "matmul": (lambda a, b: rl.matmul(a, b), ((3, 4), (4, 2))),
    "einsum": (lambda a, b: rl.einsum("bij,bjk->bik", a, b), ((2, 3, 2), (2, 2, 3))),
    "reduce": (
        lambda x, w: x | rl.reduce(lambda total, e: total * m.sin(e) + w * e, w),
        ((4,), ()),
    ),
    "reducePar": (lambda x, w: x | rl.reduce_par(lambda a, b: a * b, w), ((4,), ())),
    "product": (product, ((4,),)),
    "maximum": (lambda x: x | rl.reduce(rl.max, -1.0), ((4,),)),
    "minimum": (lambda x: x | rl.reduce(lambda a, e: rl.min(a, e * e), 9.0), ((4,),)),
    "reduce to a pair": (
        lambda x: x | rl.reduce(lambda a, e: (a.fst * e, a.snd + a.fst * e), (1.0, 0.5)),
        ((4,),),
    ),
    "reduce arrays": (
        lambda x, w: x
        | rl.reduce(lambda a, e: rl.zip(a, e) | rl.map(lambda a, b: a * b + m.sin(a)), w),
        ((4, 2), (2,)),
    ),
    "reduce empty arrays": (
        lambda x, w: x | rl.reduce(lambda a, e: rl.sort(lambda p, q: p * e < q * e, w), w),
        ((4,), (0,)),
    ),
    "scan": (lambda x, w: x | rl.scan(lambda a, e: a * w + m.sin(e), w), ((4,), ())),
    "scan of pairs": (
        lambda x: x | rl.scan(lambda a, e: (a.fst * e, a.snd + a.fst), (1.0, 0.5)),
        ((4,),),
    ),
    "recurrent": (
        lambda x, w: x | rl.scan(lambda h, e: m.tanh(w @ h + e), x[0]),
        ((4, 3), (3, 3)),
    ),
    "iterate": (
        lambda x, w: rl.iterate(3, lambda v: v | rl.map(lambda a: m.sin(a) * w), x),
        ((3,), ()),
    ),
    "split": (lambda x: x | rl.split(2) | rl.map(product), ((6,),)),
    "join": (lambda x: x | rl.join | rl.map(m.sin), ((3, 2),)),
    "transpose": (lambda x: x | rl.transpose | rl.map(product), ((3, 2),)),
    "slide": (lambda x: x | rl.slide(3, 1) | rl.map(product), ((5,),)),
    "slide by 2": (lambda x: x | rl.slide(3, 2) | rl.map(product), ((7,),)),
    "slide over rows": (
        lambda x: x | rl.slide(2, 1) | rl.map(lambda w: product(w | rl.map(product))),
        ((4, 2),),
    ),
    "convolution": (
        lambda x, w: x | rl.slide(3, 1) | rl.map(lambda window: rl.dot(window, w)),
        ((7,), (3,)),
    ),
    "pad": (lambda x: sines(rl.pad(1, 2, x)), ((4,),)),
    "padWrap": (lambda x: rows_of_sines(rl.pad_wrap(1, 2, x)), ((4, 2),)),
    "padReflect": (lambda x: sines(rl.pad_reflect(2, 1, x)), ((4,),)),
    "padConst": (lambda x, w: rl.pad_const(1, 2, w, x) | rl.scan(rl.mult, 1.0), ((4,), ())),
    "reverse": (lambda x: x | rl.reverse | rl.scan(rl.mult, 1.0), ((4,),)),
    "take": (lambda x: sines(rl.take(2, x)), ((4,),)),
    "drop": (lambda x: sines(rl.drop(1, x)), ((4,),)),
    "concat": (lambda x, y: rl.concat(x, y) | rl.scan(rl.mult, 1.0), ((2,), (3,))),
    "at": (lambda x: x[2] * x[1], ((4,),)),
    "generate": (lambda x: rl.generate(lambda i: x[i] * m.sin(x[i]), n=4), ((4,),)),
    "generate in two dimensions": (
        lambda x: rl.generate(lambda i: rl.generate(lambda j: x[j][i] * x[i][j], n=3), n=3),
        ((3, 3),),
    ),
    "gather": (lambda x: sines(rl.gather(squares(4), x)), ((4,),)),
    "gather rows": (lambda x: rows_of_sines(rl.gather(squares(4), x)), ((4, 2),)),
    "scatter": (lambda x, v: sines(rl.scatter(squares(4), x, v)), ((4,), (5,))),
    "scatter rows": (
        lambda x, v: rows_of_sines(rl.scatter(squares(4), x, v)), ((4, 2), (5, 2))
    ),
    "scatterWith": (
        lambda x, v: sines(rl.scatter_with(rl.add, squares(4), x, v)), ((4,), (5,))
    ),
    "scatterWith maximum": (
        lambda x, v: sines(rl.scatter_with(rl.max, squares(4), x, v)), ((4,), (5,))
    ),
    "scatterWith product": (
        lambda x, v: sines(rl.scatter_with(rl.mult, squares(4), x, v)), ((4,), (5,))
    ),
    "scatterWith products of rows": (
        lambda x, v, w: rows_of_sines(
            rl.scatter_with(lambda old, new: old * new * w, squares(4), x, v)
        ),
        ((4, 2), (5, 2), (2,)),
    ),
    "scatterWith of indices": (
        lambda x: rl.scatter_with(
            lambda old, new: (old.fst * new.fst, new.snd), squares(4),
            rl.generate(lambda i: (x[i], i), n=4),
            rl.generate(lambda i: (2.0, rl.clamp_idx(4, rl.from_idx(i))), n=5),
        ) | rl.map(lambda p: p.fst * x[p.snd]),
        ((4,),),
    ),
    "while": (
        lambda x, w: rl.while_(lambda s: s < 9.0, lambda s: s * (1.5 + x * w) + w, x),
        ((), ()),
    ),
    "while with many steps": (
        lambda x, w: rl.while_(lambda s: s[0] < 70.0, lambda s: (s[0] + 1.0, s[1] * w + x), (x, w)),
        ((), ()),
    ),
    "while of arrays": (
        lambda x, w: rl.while_(lambda s: s.sum() < 9.0, lambda s: w @ s + s + 0.1, x),
        ((3,), (3, 3)),
    ),
    "while that ends at once": (lambda x: rl.while_(lambda s: s < 0.0, m.sin, x), ((),)),
    "sliceAt": (lambda x: sines(rl.slice_at(2, rl.clamp_idx(4, 1), x)), ((5,),)),
    "updateAt": (
        lambda x, v: sines(rl.update_at(rl.clamp_idx(4, 1), v, x)), ((5,), (2,))
    ),
    "reorder": (
        lambda x: rl.reorder(lambda i: rl.clamp_idx(4, 3 - rl.from_idx(i)), x)
        | rl.scan(rl.mult, 1.0),
        ((4,),),
    ),
    "sort": (lambda x, w: rl.sort(lambda a, b: a < b, x) * w, ((5,), (5,))),
    "unzip": (
        lambda x, y: (lambda u: u.fst * u.snd)(
            rl.unzip(rl.zip(x, y) | rl.map(lambda a, b: (a * b, m.sin(a))))
        ),
        ((3,), (3,)),
    ),
    "toMem": (lambda x: rl.to_mem("heap", x * 2.0) * x, ((3,),)),
    "softmax": (lambda x: (lambda e: e / e.sum())(m.exp(x - x.max())), ((5,),)),
    "low-level loops": (
        lambda x: rl.map_seq(m.sin, x) | rl.reduce_seq(rl.add, 0.0), ((4,),)
    ),
    "windows": (lambda x: x | rl.rotate_values(2, m.sin) | rl.map(product), ((4,),)),
}  # fmt: skip


def check(case: Case, seed: int) -> None:
    function, shapes = case
    source = np.random.default_rng(seed)
    values = [np.asarray(source.uniform(0.2, 0.9, shape)) for shape in shapes]
    traced = rl.jit(lambda xs: function(*xs)).trace(values)
    derivatives = Derivatives(traced.term, values, seed)
    derivative, difference = derivatives.check_agreement(), derivatives.difference()
    assert abs(derivative - difference) <= 1e-4 * (1 + abs(derivative))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", SCALARS)
def test_scalar_operations(name: str) -> None:
    check(SCALARS[name], 1)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", CASES)
def test_patterns(name: str) -> None:
    check(CASES[name], 2)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*SCALARS, *CASES])
def test_many_instances(name: str) -> None:
    for seed in range(200):
        check({**SCALARS, **CASES}[name], seed)


def test_each_operation_on_floats_has_a_derivative() -> None:
    on_floats = {each.on_floats for each in OVERLOADS.values()} - {None}
    on_floats |= {"arith.maxnumf", "arith.minnumf", "arith.select", "arith.extf", "arith.truncf"}
    assert on_floats <= set(PARTIALS)
    for op, partials in PARTIALS.items():
        assert len(partials) == SCALAR_OPS[op].arity
    assert set(SCALAR_OPS) >= CONSTANT_OPS


WITHOUT_DERIVATIVE = {
    "asVector", "asScalar", "vectorFromScalar", "mma", "tensorMMA", "tensorAttention",
    "mapLaneExchange", "let",
    "clampIdx", "checkIdx", "fromIdx", "sizeOf",
}  # fmt: skip
"""Vectors and tiles, what is not a float, and let, which is not recorded."""


def test_each_pattern_has_a_derivative() -> None:
    names = {spec.name for spec in PATTERNS.values()} - WITHOUT_DERIVATIVE
    names |= {spec.name for spec in MARKS} - {"stopGradient"}
    assert names == set(reverse.RULES)
    assert names == set(forward.RULES)


TIES: dict[str, Callable[..., Any]] = {
    "maximum": lambda x: x | rl.reduce(rl.max, 1.0),
    "minimum of sums": lambda x: (
        x | rl.split(2) | rl.reduce(lambda a, e: rl.min(a, e.sum()), x[0] * 2.0)
    ),
    "sums that are infinite": lambda x: (
        x | rl.split(2) | rl.reduce(lambda a, e: rl.max(a, e | rl.reduce(rl.add, np.inf)), x[1])
    ),
    "scatterWith maximum": lambda x: rl.scatter_with(rl.max, squares(4), x[:4], x[1:6]),
}  # fmt: skip


@pytest.mark.parametrize("name", TIES)
def test_equal_extrema_share_the_derivative_in_both_modes(name: str) -> None:
    derivatives = Derivatives(rl.jit(TIES[name]).trace(np.ones(6)).term, [np.ones(6)], 3)
    reverse = reverse_term(derivatives.term, derivatives.active)
    forward = forward_term(derivatives.term, derivatives.active)
    (gradient,) = derivatives.run_derivative(reverse, derivatives.cotangents)
    (tangent,) = derivatives.run_derivative(forward, derivatives.tangents)
    assert np.isclose(
        (gradient * derivatives.tangents[0]).sum(), (tangent * derivatives.cotangents[0]).sum()
    )


@pytest.mark.parametrize("text", [
    "z |> map(fun(a, (a, a))) |> reduce(fun((t, v), sin(t) * fst(v) + snd(v)), s)",
    "z |> map(fun(a, y)) |> reduce(fun((t, v), sin(t) * (v |> reduce(add, t))), s)",
    "zip(z, z |> map(fun(a, y))) "
    "|> scan(fun((t, v), sin(t) * fst(v) * (snd(v) |> reduce(add, t))), s)",
])  # fmt: skip
def test_steps_over_elements_that_cost_nothing(text: str) -> None:
    """The scan that stores the accumulators reads the arrays that the elements come from."""
    term = parse_term(f"fun((z : 4.f64, y : 3.f64, s : f64), {text})")
    types, _ = uncurry(term.type)
    source = np.random.default_rng(0)
    own = Derivatives(term, [each for type in types for each in random_buffers(type, source)], 0)
    np.testing.assert_allclose(own.check_agreement(), own.difference(), rtol=1e-6)


def test_steps_with_vectors_of_constants() -> None:
    """The scan that stores the values of each step starts from a vector, which is not active."""
    term = parse_term(
        """fun((x : 4.7.f64), abs(x |> reduce(fun((total, row),
          ([0.5_f64, 2.0_f64] |> asVector(1) |> mapPar(fun(v, v - v)) |> asScalar
            |> at(1 |> clampIdx(2)))
          * (row |> reduce(max, 0.0_f64)) + total * total), 0.5_f64)))"""
    )
    types, _ = uncurry(term.type)
    source = np.random.default_rng(0)
    own = Derivatives(term, [each for type in types for each in random_buffers(type, source)], 0)
    np.testing.assert_allclose(own.check_agreement(), own.difference(), rtol=1e-6)
