"""`rl.grad` and its relatives: results, composition, conventions, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.rewrite.core import Setting
from riselang.rewrite.strategies.default_schedule import recognized_computations

X = np.array([1.2, 0.7, -0.3, 2.0])


def rosenbrock(x: Any) -> Any:
    after, before = x[1:], x[:-1]
    return (100.0 * (after - before**2.0) ** 2.0 + (1.0 - before) ** 2.0).sum()


def rosenbrock_gradient(x: Any) -> Any:
    result = np.zeros_like(x)
    result[1:] += 200 * (x[1:] - x[:-1] ** 2)
    result[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    return result


def interpreted(function: Any) -> Any:
    return rl.jit(function, backend="interpret")


def test_gradient_and_value() -> None:
    value, gradient = rl.value_and_grad(rosenbrock)(X)
    np.testing.assert_allclose(gradient, rosenbrock_gradient(X), rtol=1e-13)
    np.testing.assert_allclose(value, 483.8)


def test_strict_kernels_compute_the_bits_of_the_interpreter() -> None:
    def loss(params: Any, x: Any) -> Any:
        hidden = rl.math.tanh(x @ params["w"] + params["b"])
        return (hidden * hidden).sum() + hidden.max()

    source = np.random.default_rng(1)
    params = {"w": source.normal(size=(3, 4)), "b": source.normal(size=4)}
    gradient, x = rl.grad(loss), source.normal(size=(5, 3))
    compiled = rl.jit(gradient, float="strict")(params, x)
    expected = rl.jit(gradient, float="strict", backend="interpret")(params, x)
    for name in params:
        assert compiled[name].tobytes() == expected[name].tobytes()


def test_vjp_needs_the_arguments() -> None:
    with pytest.raises(rl.UserError, match="vjp: expected the arguments"):
        rl.vjp(lambda x: x)


def test_vjp_and_jvp() -> None:
    def both(x: Any, y: Any, ct: Any) -> Any:
        value, pull_back = rl.vjp(lambda x, y: {"p": x * y, "s": x + y}, x, y)
        return value, pull_back(ct)

    ct = {"p": np.array([1.0, 2.0]), "s": np.array([0.0, 1.0])}
    x, y = np.array([3.0, 4.0]), np.array([5.0, 6.0])
    value, (dx, dy) = interpreted(both)(x, y, ct)
    np.testing.assert_array_equal(value["p"], x * y)
    np.testing.assert_array_equal(dx, [5.0, 13.0])
    np.testing.assert_array_equal(dy, [3.0, 9.0])
    value, tangent = interpreted(lambda x, t: rl.jvp(rosenbrock, (x,), (t,)))(X, np.ones(4))
    np.testing.assert_allclose(tangent, rosenbrock_gradient(X).sum(), rtol=1e-12)


def test_argnums_and_aux() -> None:
    gradient = rl.grad(lambda x, y: (x * y, [x + y]), argnums=(0, 1), has_aux=True)
    (dx, dy), aux = interpreted(gradient)(2.0, 3.0)
    assert (dx, dy, aux[0]) == (3.0, 2.0, 5.0)


def test_second_derivatives() -> None:
    hessian = interpreted(rl.hessian(rosenbrock))(X)
    expected = interpreted(rl.jacobian(rl.grad(rosenbrock)))(X)
    np.testing.assert_allclose(hessian, expected, atol=1e-10)
    np.testing.assert_allclose(np.diag(hessian), [1450, 910, -490, 200], rtol=1e-12)

    def scanned(x: Any) -> Any:
        return (x | rl.scan(lambda a, e: a * rl.math.sin(e) + e, 1.0)).sum()

    second = interpreted(rl.hessian(scanned))(X)
    np.testing.assert_allclose(second, second.T, rtol=1e-12)


def test_jacobian_of_a_linear_map() -> None:
    matrix = np.arange(12.0).reshape(3, 4)
    result = interpreted(rl.jacobian(lambda x, a: a @ x))(X, matrix)
    np.testing.assert_array_equal(result, matrix)
    assert interpreted(rl.jacobian(lambda a, x: a @ x))(matrix, X).shape == (3, 3, 4)


def test_composition_with_vmap_and_symbolic_sizes() -> None:
    rows = np.stack([X, X + 1])
    result = interpreted(rl.vmap(rl.grad(rosenbrock)))(rows)
    np.testing.assert_allclose(result, [rosenbrock_gradient(row) for row in rows], rtol=1e-12)

    @rl.jit(sizes="symbolic")
    def cubes(x: rl.Array["N", rl.f64]):
        return rl.grad(lambda x: (x * x * x).sum())(x)

    np.testing.assert_allclose(cubes(X), 3 * X * X)
    np.testing.assert_allclose(cubes(X[:2]), 3 * X[:2] ** 2)


def test_values_of_enclosing_functions_are_constants() -> None:
    def outer(x: Any, y: Any) -> Any:
        scaled = y * 2.0
        return x | rl.map(lambda a: rl.grad(lambda b: b * b * scaled.sum() * a)(a))

    result = interpreted(outer)(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(result, [16.0, 64.0])


def test_gradient_of_a_matrix_multiplication_is_two_of_them() -> None:
    def pull_back(a: Any, b: Any, ct: Any) -> Any:
        return rl.vjp(rl.matmul, a, b)[1](ct)

    def gradient(a: Any, b: Any) -> Any:
        return rl.grad(lambda a, b: rl.math.tanh(a @ b).sum(), argnums=(0, 1))(a, b)

    a = np.ones((128, 128), np.float32)
    for function, arguments, count in ((pull_back, (a, a, a), 2), (gradient, (a, a), 3)):
        term = rl.jit(function).trace(*arguments).term
        kinds = [str(each) for each in recognized_computations(term, Setting("contract"))]
        assert sum(kind.startswith("matrix multiplication") for kind in kinds) == count


def network(params: Any, x: Any) -> Any:
    for w in params:
        x = rl.math.tanh(x @ w)
    return (x * x).sum()


def recurrent(w: Any, x: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        gates = rl.math.tanh(state @ w + row)
        return state * gates[:8] + gates[8:]

    return rl.reduce(step, rl.zeros((8,), rl.f64), x).sum()


def diffused(rate: Any, x: Any) -> Any:
    def step(x: Any) -> Any:
        change = rate * (x[:-2] + x[2:] - 2.0 * x[1:-1])
        return x.at[1:-1].set(x[1:-1] + change)

    return rl.iterate(9, step, x).sum()


@pytest.mark.parametrize(
    ("function", "params", "x"),
    [
        (network, [np.ones((16, 16))] * 3, np.ones((8, 16))),
        (recurrent, np.ones((8, 16)), np.ones((10, 16))),
        (diffused, np.ones(14), np.ones(16)),
    ],
)
def test_work_of_a_gradient(function: Any, params: Any, x: Any) -> None:
    counts: list[int] = []
    for each in (function, rl.value_and_grad(function)):
        work = rl.jit(each).trace(params, x).cost_analysis().work
        assert work is not None
        counts.append(int(str(work.operations)))
    assert counts[1] <= 4 * counts[0]


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (rl.abs, 0.0, 1.0),
        (lambda x: rl.max(x, 0.0), 0.0, 0.5),
        (lambda x: rl.where(x > 0.0, x, 0.0), 0.0, 0.0),
        (lambda x: rl.where(x > 0.0, rl.math.log(x), 0.0), -1.0, 0.0),
        (lambda x: rl.where(x > 0.0, rl.math.sqrt(x), 0.0), 0.0, 0.0),
        (lambda x: rl.math.pow(x, 0.0), 0.0, 0.0),
        (lambda x: rl.math.floor(x), 1.5, 0.0),
    ],
)
def test_conventions(function: Any, x: float, expected: float) -> None:
    assert interpreted(rl.grad(lambda x: function(x)))(x) == expected


def test_maximum_is_shared_by_equal_elements() -> None:
    gradient = interpreted(rl.grad(lambda x: x.max()))(np.array([1.0, 3.0, 3.0]))
    np.testing.assert_array_equal(gradient, [0.0, 0.5, 0.5])


def refusal(function: Any, *arguments: Any) -> str:
    with pytest.raises(rl.RiseError) as error:
        function(*arguments)
    assert "test_grad.py:" in str(error.value)
    return str(error.value)


def test_refusals() -> None:
    assert "derivatives exist only with respect to floats" in refusal(
        rl.grad(rosenbrock), np.arange(4)
    )
    assert "a gradient needs a result that is one float" in refusal(rl.grad(lambda x: x * 2.0), X)
    assert "argnums has 3" in refusal(rl.grad(rosenbrock, argnums=3), X)
    assert "expected a function" in refusal(rl.grad, 3)
    for argnums in ("x", 1.5, (0, "x"), ()):
        assert "expected the position of an argument" in refusal(rl.grad, rosenbrock, argnums)
    for transformation in (rl.jacobian, rl.hessian):
        by_structure = transformation(lambda parts: (parts["x"] ** 2.0).sum())
        assert "differentiate by one array at a time" in refusal(by_structure, {"x": X})
    complex_message = refusal(rl.grad(lambda x: rl.abs(x).sum()), X.astype(complex))
    assert "take its real and imaginary part as arguments" in complex_message

    def doubled(x: Any) -> Any:
        return rl.while_(lambda s: s < 10.0, lambda s: s * 2.0, x)

    assert rl.grad(doubled)(1.5) == 8.0
    assert "another structure" in refusal(lambda: rl.jvp(rosenbrock, (X,), ((X, X),)))
    value, tangent = interpreted(lambda x: rl.jvp(doubled, (x,), (1.0,)))(1.5)
    assert (value, tangent) == (12.0, 8.0)


def test_logaddexp_has_a_derivative_where_its_arguments_are_equal() -> None:
    zero = np.float64(0)
    gradient = rl.grad(rl.numpy.logaddexp, argnums=(0, 1))
    assert [float(each) for each in gradient(zero, zero)] == [0.5, 0.5]
    assert rl.grad(rl.grad(lambda z: rl.numpy.logaddexp(0.0, z)))(zero) == 0.25


def test_static_parameters_stay_static_in_every_transformation() -> None:
    power = rl.jit(lambda x, n: sum(x**k for k in range(1, n + 1)), static="n")
    x = np.array([1.0, 2.0])
    assert rl.jacobian(power)(x, 3).tolist() == [[6, 0], [0, 17]]
    assert rl.vmap(rl.grad(power), in_axes=(0, None))(x, 3).tolist() == [6, 17]


def test_a_custom_derivative_takes_arguments_by_name() -> None:
    @rl.custom_jvp
    def scale(x: Any, factor: Any) -> Any:
        return x * factor

    scale.defjvp(lambda primals, tangents: (primals[0] * primals[1], tangents[0] * 7.0))
    assert scale(np.float64(2), factor=np.float64(3)) == 6
    assert rl.grad(lambda x: scale(x, factor=3.0))(np.float64(2)) == 7


def test_a_loop_may_return_a_value_of_an_outer_scope() -> None:
    def loss(x: Any) -> Any:
        largest = x.max(axis=-1, keepdims=True)
        return ((x - largest) * x).sum()

    gradient = interpreted(rl.grad(loss))(np.array([1.0, 3.0, 2.0]))
    np.testing.assert_array_equal(gradient, [-1.0, -3.0, 1.0])


def test_sums_over_several_axes_become_one() -> None:
    def loss(w: Any, x: Any) -> Any:
        joined = w.reshape(6 * 32, 64)
        return rl.math.tanh(x | rl.map(lambda rows: rows @ joined)).sum()

    w, x = np.ones((6, 32, 64), np.float32), np.ones((8, 16, 192), np.float32)
    term = rl.jit(rl.grad(loss)).trace(w, x).term
    kinds = [str(each) for each in recognized_computations(term, Setting("contract"))]
    assert any("192 x 128 by 128 x 64" in kind for kind in kinds)
