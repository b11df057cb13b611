"""Linear algebra beside NumPy: residuals, orthogonality, special matrices, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

pytestmark = pytest.mark.rotating(6)

Array = np.ndarray[Any, Any]
CONDITIONS: tuple[Any, ...] = (None, -2, 1, np.inf, "fro")
NORMS: dict[Any, tuple[Any, ...]] = {
    1: (None, 2, 1, np.inf, 3, 0),
    (0, 2): ("fro", "nuc", -2, 1, -np.inf),
}
TYPES = ("f", "d", "F", "D")
SHAPES = ((1, 1), (4, 4), (7, 3), (3, 7), (1, 5), (5, 1))
qr = rl.jit(lambda a: tuple(rl.linalg.qr(a)))
svd = rl.jit(lambda a: tuple(rl.linalg.svd(a, full_matrices=False)))
eigh = rl.jit(lambda a: tuple(rl.linalg.eigh(a)))


def random_matrix(shape: tuple[int, ...], type: str, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    real = random.standard_normal(shape)
    return (real + 1j * random.standard_normal(shape) if type in "FD" else real).astype(type)


def hermitian(n: int, type: str, seed: int = 0) -> Array:
    a = random_matrix((n, n), type, seed)
    return a + adjoint(a)


def adjoint(a: Array) -> Array:
    return a.conj().swapaxes(-1, -2)


def assert_small(difference: Array, scale: float, n: int) -> None:
    eps = np.finfo(difference.dtype).eps
    assert abs(difference).max() <= 8 * eps * n * max(scale, np.finfo(difference.dtype).tiny)


def assert_orthonormal(q: Array) -> None:
    assert_small(adjoint(q) @ q - np.eye(q.shape[-1], dtype=q.dtype), 1.0, len(q))


def check_svd(a: Array) -> None:
    u, s, vh = svd(a)
    assert_small((u * s) @ vh - a, abs(a).max() * len(a), max(a.shape))
    assert_orthonormal(u)
    assert_orthonormal(adjoint(vh))
    assert (np.diff(s) <= 0).all()
    assert (s >= 0).all()


def check_eigh(a: Array) -> None:
    w, v = eigh(a)
    assert_small(a @ v - v * w, abs(a).max() * len(a), len(a))
    assert_orthonormal(v)
    assert (np.diff(w) >= 0).all()


def check_qr(a: Array) -> None:
    q, r = qr(a)
    assert_small(q @ r - a, abs(a).max() * len(a), max(a.shape))
    assert_orthonormal(q)
    assert (np.tril(r, -1) == 0).all()


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_decompositions(shape: tuple[int, int], type: str) -> None:
    a = random_matrix(shape, type)
    check_qr(a)
    check_svd(a)
    if shape[0] == shape[1]:
        check_eigh(hermitian(shape[0], type))


@pytest.mark.parametrize("n", [24, pytest.param(200, marks=pytest.mark.nightly)])
def test_larger_matrices(n: int) -> None:
    check_qr(random_matrix((n, n - 3), "d"))
    check_svd(random_matrix((n, n - 3), "d"))
    check_eigh(hermitian(n, "d"))


SPECIAL: dict[str, Array] = {
    "zero": np.zeros((6, 6)),
    "one": np.ones((6, 6)),
    "of rank 2": random_matrix((6, 2), "d") @ random_matrix((2, 6), "d"),
    "ill-conditioned": np.vander(np.linspace(0, 1, 6)),
    "graded": np.diag(10.0 ** -np.arange(0, 60, 10)) + 1e-70,
    "with zeros on the diagonal": np.diag([0.0, 1, 0, 2, 0, 3]) + np.diag(np.ones(5), 1),
    "nilpotent": np.diag(np.ones(5), 1),
    "very large": 1e300 * random_matrix((6, 6), "d"),
    "very small": 1e-300 * random_matrix((6, 6), "d"),
    "diagonal": np.diag([3.0, -1, 3, 0, -2, 3]),
    "with large and small columns": random_matrix((6, 6), "d") * 10.0 ** np.arange(-150, 150, 50),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.sampled(1)
def test_special_matrices(name: str) -> None:
    a = SPECIAL[name]
    check_qr(a)
    check_svd(a)
    check_eigh(np.tril(a) + np.tril(a, -1).T)
    largest = max(abs(a).max(), 1e-320)
    expected = np.linalg.svd(a / largest, compute_uv=False)
    np.testing.assert_allclose(svd(a)[1] / largest, expected, atol=1e-13)


@pytest.mark.parametrize("function", [qr, svd, eigh])
def test_nan_ends_in_nan(function: Callable[[Array], tuple[Array, ...]]) -> None:
    a = hermitian(6, "d")
    a[2, 1] = np.nan
    assert any(np.isnan(each).any() for each in function(a))


DECOMPOSITIONS: dict[str, Callable[[Any], Any]] = {
    "qr": lambda a: tuple(rl.linalg.qr(a)),
    "complete qr": lambda a: tuple(rl.linalg.qr(a, "complete")),
    "svd": lambda a: tuple(rl.linalg.svd(a)),
    "eigh": lambda a: tuple(rl.linalg.eigh(a[:, :, :3])),
    "inv": lambda a: rl.linalg.inv(a[:, :, :3]),
    "slogdet": lambda a: tuple(rl.linalg.slogdet(a[:, :, :3])),
    "cholesky": lambda a: rl.linalg.cholesky(a @ rl.numpy.matrix_transpose(a).conj()),
    "expm": lambda a: rl.linalg.expm(a[:, :, :3]),
    "pinv": lambda a: rl.linalg.pinv(a),
}


@pytest.mark.parametrize("float", ["strict", "contract"])
@pytest.mark.parametrize("name", DECOMPOSITIONS)
@pytest.mark.sampled(3)
def test_compiled_bits(name: str, float: Any) -> None:
    function = DECOMPOSITIONS[name]
    a = random_matrix((2, 3, 4), "D" if name != "pinv" else "d")
    compiled = rl.jit(function, float=float)(a)
    interpreted = rl.jit(function, float=float, backend="interpret")(a)
    if not isinstance(compiled, tuple):
        compiled, interpreted = (compiled,), (interpreted,)
    for one, other in zip(compiled, interpreted, strict=True):
        assert np.array_equal(one, other)


def square(*shape: int) -> Array:
    return random_matrix(shape, "D")


NUMPY: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Array, ...]]] = {
    "eigvalsh": (rl.linalg.eigvalsh, np.linalg.eigvalsh, (square(2, 4, 4),)),
    "svdvals": (
        rl.linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), (square(2, 4, 3),),
    ),
    "solve": (rl.linalg.solve, np.linalg.solve, (square(2, 1, 4, 4), square(3, 4, 2))),
    "solve a vector": (rl.linalg.solve, np.linalg.solve, (square(4, 4), square(4))),
    "inv": (rl.linalg.inv, np.linalg.inv, (square(2, 4, 4),)),
    "det": (rl.linalg.det, np.linalg.det, (square(2, 4, 4),)),
    "pinv": (rl.linalg.pinv, np.linalg.pinv, (square(2, 4, 3),)),
    "lstsq": (
        lambda a, b: rl.linalg.lstsq(a, b)[0], lambda a, b: np.linalg.lstsq(a, b)[0],
        (square(5, 3), square(5, 2)),
    ),
    "matrix_rank": (
        rl.linalg.matrix_rank, np.linalg.matrix_rank, (square(2, 5, 2) @ square(2, 4),),
    ),
    "matrix_power": (
        lambda a: rl.linalg.matrix_power(a, -5), lambda a: np.linalg.matrix_power(a, -5),
        (square(2, 3, 3),),
    ),
    "multi_dot": (
        lambda a, b, c: rl.linalg.multi_dot([a, b, c]),
        lambda a, b, c: np.linalg.multi_dot([a, b, c]), (square(2, 6), square(6, 5), square(5)),
    ),
    **{
        f"cond {p}": (
            lambda a, p=p: rl.linalg.cond(a, p), lambda a, p=p: np.linalg.cond(a, p),
            (square(2, 3, 3),),
        )
        for p in CONDITIONS
    },
    **{
        f"norm {p} {axis}": (
            lambda a, p=p, axis=axis: rl.linalg.norm(a, p, axis, True),
            lambda a, p=p, axis=axis: np.linalg.norm(a, p, axis, True), (square(2, 3, 4),),
        )
        for axis, orders in NORMS.items()
        for p in orders
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.sampled(5)
def test_functions_of_numpy(name: str) -> None:
    function, expected, arguments = NUMPY[name]
    found = rl.jit(lambda xs: function(*xs))(arguments)
    wanted = expected(*arguments)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_triangular_systems() -> None:
    a, b = square(4, 4), square(4, 2)

    def solve(a: Any, b: Any) -> Any:
        first = rl.linalg.solve_triangular(a, b)
        second = rl.linalg.solve_triangular(a, b, lower=True, trans="C", unit_diagonal=True)
        return first, second

    first, second = rl.jit(solve)(a, b)
    lower = np.tril(a, -1) + np.eye(4)
    np.testing.assert_allclose(np.triu(a) @ first, b, atol=1e-12)
    np.testing.assert_allclose(adjoint(lower) @ second, b, atol=1e-12)


def test_exponentials() -> None:
    rotation = np.array([[0, -30.0], [30.0, 0]])
    found = rl.jit(rl.linalg.expm)(rotation)
    expected = np.array([[np.cos(30), -np.sin(30)], [np.sin(30), np.cos(30)]])
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert np.array_equal(rl.jit(rl.linalg.expm)(np.zeros((3, 3))), np.eye(3))


def test_integers_and_small_floats() -> None:
    a = np.array([[1, 2], [3, 5]])
    inverse = rl.jit(rl.linalg.inv)
    np.testing.assert_allclose(inverse(a), np.linalg.inv(a))
    assert inverse(a.astype(np.float16)).dtype == np.float32


def test_cholesky_of_what_is_not_positive_definite() -> None:
    found = rl.jit(lambda a: rl.linalg.cholesky(a))(np.array([[1.0, 2], [2, 1]]))
    assert np.isnan(found[0, 0])
    assert found[0, 1] == 0


def weights(*shape: int) -> Array:
    return np.cos(np.arange(np.prod(shape))).reshape(shape)


def squared(x: Any) -> Any:
    return (x * x * weights(*x.shape)).sum()


DERIVATIVES: dict[str, tuple[Callable[[Any], Any], tuple[int, int]]] = {
    "q": (lambda a: squared(rl.linalg.qr(a).Q), (4, 3)),
    "r": (lambda a: squared(rl.linalg.qr(a).R), (4, 3)),
    "u": (lambda a: squared(rl.linalg.svd(a, full_matrices=False).U), (4, 3)),
    "vh": (lambda a: squared(rl.linalg.svd(a, full_matrices=False).Vh), (3, 4)),
    "svdvals": (lambda a: squared(rl.linalg.svdvals(a)), (3, 4)),
    "eigenvectors": (lambda a: squared(rl.linalg.eigh(a + a.T).eigenvectors), (3, 3)),
    "eigenvalues of one triangle": (lambda a: squared(rl.linalg.eigvalsh(a)), (3, 3)),
    "cholesky": (lambda a: squared(rl.linalg.cholesky(a @ a.T)), (3, 3)),
    "solve": (lambda a: squared(rl.linalg.solve(a, a.T)), (3, 3)),
    "solve_triangular": (lambda a: squared(rl.linalg.solve_triangular(a, a.T)), (3, 3)),
    "det": (rl.linalg.det, (3, 3)),
    "slogdet": (lambda a: rl.linalg.slogdet(a).logabsdet, (3, 3)),
    "pinv": (lambda a: squared(rl.linalg.pinv(a)), (4, 3)),
    "expm": (lambda a: squared(rl.linalg.expm(a)), (3, 3)),
    "a complex inverse": (lambda a: squared(abs(rl.linalg.inv(a + 1j * weights(3, 3)))), (3, 3)),
    "complex singular vectors": (
        lambda a: squared(abs(rl.linalg.svd(a + 1j * weights(3, 3)).U)), (3, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.sampled(1)
def test_derivatives(name: str) -> None:
    function, shape = DERIVATIVES[name]
    a, step = random_matrix(shape, "d", 3), 1e-6
    direction = weights(*shape)
    slope = (rl.grad(function)(a) * direction).sum()
    compiled = rl.jit(function)
    difference = compiled(a + step * direction) - compiled(a - step * direction)
    np.testing.assert_allclose(slope, difference / (2 * step), rtol=2e-5, atol=1e-6)


@pytest.mark.nightly
def test_second_derivatives() -> None:
    a = random_matrix((3, 3), "d")
    found = rl.hessian(lambda a: rl.linalg.slogdet(a).logabsdet)(a)
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(found, -np.einsum("li,jk->ijkl", inverse, inverse), atol=1e-9)


def test_misuse_is_explained() -> None:
    def message(function: Callable[[Any], Any], shape: tuple[int, ...] = (2, 3)) -> str:
        with pytest.raises(rl.UserError) as caught:
            rl.jit(function)(np.ones(shape))
        return caught.value.message

    assert "square" in message(rl.linalg.inv)
    assert "empty" in message(lambda a: rl.linalg.qr(a).Q, (0, 3))
    assert "'reduced', 'complete' or 'r'" in message(lambda a: rl.linalg.qr(a, "raw").Q)
    assert "as many rows" in message(lambda a: rl.linalg.solve(a, np.ones(3)), (2, 2))
    assert "UPLO" in message(lambda a: rl.linalg.eigh(a, "X")[0], (2, 2))
