"""Linear algebra under NumPy's names, for functions under `rl.jit`; also `rl.linalg`.

The last two axes of an array are those of its matrices, the others are those of a batch. Matrices
of f32 and complex64 are decomposed in these types, those of f16 and bf16 in f32, and those of all
other types in f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from riselang.dsl import patterns
from riselang.dsl.argument_errors import with_argument_checks as _with_argument_checks
from riselang.dsl.arrays import constructors
from riselang.dsl.arrays.shapes import (
    as_array,
    format_shape,
    literal_of,
    map_at,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import current_trace, value_text
from riselang.numpy.linalg.arguments import as_matrices, as_square, check_square
from riselang.numpy.linalg.decompositions import (
    adjoint,
    cholesky_function,
    det_function,
    eigenvalues,
    eigh_function,
    map_matrices,
    masked,
    pinv_function,
    qr_function,
    relative_limit,
    singular_values,
    slogdet_function,
    solve_function,
    svd_full,
    svd_function,
    triangular_function,
)
from riselang.numpy.linalg.exponentials import exponentiate
from riselang.numpy.linalg.householder import real_type, scalar_of, stored
from riselang.numpy.linalg.norms import matrix_norm, norm, vector_norm
from riselang.numpy.linalg.products import multiply_chain
from riselang.numpy.manipulation import (
    diagonal,
    matmul,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vecdot,
)
from riselang.numpy.reductions import count_nonzero

__all__ = [
    "cholesky",
    "cond",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class QRResult(NamedTuple):
    """Q and R."""

    Q: Value
    R: Value


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Value
    eigenvectors: Value


class SVDResult(NamedTuple):
    """U, singular values in descending order, and the conjugate transpose of V."""

    U: Value
    S: Value
    Vh: Value


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its magnitude."""

    sign: Value
    logabsdet: Value


def qr(a: Any, mode: str = "reduced") -> QRResult | Value:
    """Return Q, with orthonormal columns, and R, an upper triangle, whose product is `a`.

    `mode` is "reduced", "complete" (Q is square) or "r" (only R is returned).
    """
    if mode not in ("reduced", "complete", "r"):
        refuse(f"qr: the mode must be 'reduced', 'complete' or 'r', but is {mode!r}")
    (x,) = as_matrices("qr", a)
    q, r = map_matrices("qr", qr_function(mode == "complete"), [x], (2,), 2)
    return r if mode == "r" else QRResult(q, r)


def eigh(a: Any, UPLO: str = "L") -> EighResult:  # noqa: N803
    """Return the eigenvalues in ascending order and the eigenvectors of Hermitian matrices.

    Only the lower triangles are read or, with `UPLO="U"`, the upper ones.
    """
    found = map_matrices("eigh", eigh_function, [_hermitian("eigh", a, UPLO)], (2,), 2)
    return EighResult(*found)


def eigvalsh(a: Any, UPLO: str = "L") -> Value:  # noqa: N803
    """Return the eigenvalues of Hermitian matrices in ascending order."""
    return eigenvalues("eigvalsh", _hermitian("eigvalsh", a, UPLO))


def _hermitian(name: str, a: Any, triangle: str) -> Value:
    """Return Hermitian matrices of which one triangle is read."""
    if triangle not in ("L", "U"):
        refuse(f"{name}: UPLO must be 'L' or 'U', but is {triangle!r}")
    (x,) = as_square(name, a)
    return map_at(rank_of(x) - 2, lambda matrix: _mirrored(matrix, triangle == "L"), x)


def _mirrored(matrix: Value, is_lower: bool) -> Value:
    own = masked(matrix, lambda i, j: i > j if is_lower else i < j)
    middle = masked(matrix, lambda i, j: i == j)
    if scalar_of(matrix).is_complex:
        middle = (middle + adjoint(middle)) * literal_of(0.5, scalar_of(matrix))
    return stored(own + adjoint(own) + middle)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Value:
    """Return U, the singular values in descending order, and the conjugate transpose of V.

    With `full_matrices=False`, U and V have only the columns of the singular values.
    """
    (x,) = as_matrices("svd", a)
    del hermitian  # it allows NumPy to use another algorithm
    if not compute_uv:
        return svdvals(x)
    rows, columns = shape_of(x)[-2:]
    if full_matrices and rows != columns:
        if current_trace().is_differentiated:
            refuse("svd: there is no derivative with full_matrices=True; pass full_matrices=False")
        return SVDResult(*map_matrices("svd", svd_full, [x], (2,), 3))
    return SVDResult(*map_matrices("svd", svd_function, [x], (2,), 3))


def svdvals(x: Any) -> Value:
    """Return the singular values in descending order."""
    (x,) = as_matrices("svdvals", x)
    return singular_values("svdvals", x)


def cholesky(a: Any, upper: bool = False) -> Value:
    """Return the lower triangles L with A = L L*, or the upper ones; the other triangle of `a` is
    not read.

    The result is NaN if a matrix is not positive definite.
    """
    x = _hermitian("cholesky", a, "U" if upper else "L")
    (found,) = map_matrices("cholesky", cholesky_function, [x], (2,))
    return map_at(rank_of(x) - 2, adjoint, found) if upper else found


def solve(a: Any, b: Any) -> Value:
    """Return X with `a @ X = b`; `b` is one vector, or an array of matrices."""
    return _solve("solve", solve_function, a, b)


def solve_triangular(
    a: Any, b: Any, lower: bool = False, trans: int | str = 0, unit_diagonal: bool = False
) -> Value:
    """Return X with `a @ X = b`, where only one triangle of `a` is read.

    `trans` is 0 or "N", 1 or "T" (`a` is transposed) or 2 or "C" (and conjugate), as in SciPy.
    """
    kinds = {0: "N", 1: "T", 2: "C"}
    kind = kinds.get(trans, trans) if isinstance(trans, int) else trans
    if kind not in ("N", "T", "C"):
        refuse(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', but is {trans!r}")
    a, b = as_matrices("solve_triangular", a, b, ranks=(2, 1))
    if kind != "N":
        turn = adjoint if kind == "C" else patterns.transpose
        a = map_at(rank_of(a) - 2, turn, a)
        lower = not lower
    return _solve("solve_triangular", triangular_function(lower, unit_diagonal), a, b)


def _solve(name: str, function: Any, a: Any, b: Any) -> Value:
    a, b = as_matrices(name, a, b, ranks=(2, 1))
    check_square(name, a)
    is_vector = rank_of(b) == 1
    if is_vector:
        b = patterns.split(1, b)
    if shape_of(a)[-1] != shape_of(b)[-2]:
        refuse(
            f"{name}: the matrices of shape {format_shape(shape_of(a))} do not have as many rows "
            f"as the right-hand sides of shape {format_shape(shape_of(b))}"
        )
    (found,) = map_matrices(
        name, lambda x, y: function(patterns.tuple(stored(x), stored(y))), [a, b], (2, 2)
    )
    return map_at(rank_of(found) - 2, patterns.join, found) if is_vector else found


def inv(a: Any) -> Value:
    """Return the inverses of square matrices."""
    (x,) = as_square("inv", a)
    n = shape_of(x)[-1].constant
    return solve(x, constructors.eye(n, n, 0, scalar_of(x)))


def det(a: Any) -> Value:
    """Return the determinants of square matrices."""
    (x,) = as_square("det", a)
    return map_matrices("det", det_function, [x], (2,))[0]


def slogdet(a: Any) -> SlogdetResult:
    """Return the signs of determinants and the logarithms of their magnitudes."""
    (x,) = as_square("slogdet", a)
    return SlogdetResult(*map_matrices("slogdet", slogdet_function, [x], (2,), 2))


def pinv(a: Any, rcond: float | None = None) -> Value:
    """Return the pseudoinverses; singular values of at most `rcond` times the largest are 0."""
    (x,) = as_matrices("pinv", a)
    limit = _check_limit("pinv", rcond)
    return map_matrices("pinv", pinv_function(limit), [x], (2,))[0]


def _check_limit(name: str, limit: Any) -> float | None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float)):
        refuse(f"{name}: rcond is a number, but found {value_text(limit)}")
    return None if limit is None else float(limit)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Value, Value, Value, Value]:
    """Return the solution of least squares with the smallest norm, the squares of the residuals,
    the rank, and the singular values."""
    a, b = as_matrices("lstsq", a, b, ranks=(2, 1))
    if rank_of(a) != 2 or rank_of(b) > 2:
        refuse(
            "lstsq: expected one matrix and one or several right-hand sides; rl.vmap maps batches"
        )
    if shape_of(a)[0] != shape_of(b)[0]:
        refuse(
            f"lstsq: the matrix of shape {format_shape(shape_of(a))} does not have as many rows "
            f"as the right-hand side of shape {format_shape(shape_of(b))}"
        )
    found = stored(pinv(a, rcond) @ b)
    rest = b - a @ found
    squares = abs(rest) * abs(rest)
    residuals = squares.sum(0) if rank_of(b) == 2 else squares.sum().reshape(1)
    values = svdvals(a)
    return found, residuals, _rank_of(a, values, rcond), values


def _rank_of(x: Value, values: Value, limit: float | None) -> Value:
    part = relative_limit(x) if limit is None else limit
    least = map_at(rank_of(values) - 1, lambda s: s[0], values) * literal_of(part, real_type(x))
    is_counted = values > (least if rank_of(values) == 1 else least[..., None])
    return count_nonzero(is_counted, -1)


def matrix_rank(a: Any, rtol: float | None = None) -> Value:
    """Return how many singular values are larger than `rtol` times the largest one."""
    (x,) = as_matrices("matrix_rank", a)
    return _rank_of(x, stored(svdvals(x)), _check_limit("matrix_rank", rtol))


def cond(x: Any, p: Any = None) -> Value:
    """Return the condition numbers of matrices, in the 2-norm or that which `p` names."""
    (x,) = as_matrices("cond", x)
    if p in (None, 2, -2):
        values = stored(svdvals(x))
        first, last = (values[..., k] for k in ((0, -1) if p != -2 else (-1, 0)))
        return first / last
    check_square("cond", x)
    return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)


def matrix_power(a: Any, n: int) -> Value:
    """Return the product of `n` copies of square matrices, or of their inverses."""
    (x,) = as_square("matrix_power", a)
    if isinstance(n, bool) or not isinstance(n, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        refuse(f"matrix_power: the exponent is an integer, but found {value_text(n)}")
    if n < 0:
        x, n = inv(x), -n
    size = shape_of(x)[-1].constant
    result: Value | None = None
    if n == 0:
        identity = constructors.eye(size, size, 0, scalar_of(x))
        return map_at(rank_of(x) - 2, lambda _: identity, x)
    while n:
        if n % 2:
            result = x if result is None else stored(result @ x)
        n //= 2
        x = stored(x @ x) if n else x
    assert result is not None
    return result


def multi_dot(arrays: Sequence[Any]) -> Value:
    """Multiply matrices in the order of the fewest operations."""
    return multiply_chain(as_array("multi_dot", each) for each in arrays)


def expm(a: Any) -> Value:
    """Return the exponentials of square matrices."""
    (x,) = as_square("expm", a)
    return map_matrices("expm", exponentiate, [x], (2,))[0]


globals().update(_with_argument_checks({name: globals()[name] for name in __all__}, "rl.linalg"))


def __getattr__(name: str) -> object:
    from riselang.dsl.name_hints import missing_attribute_message

    raise AttributeError(missing_attribute_message(__name__, name, __all__), name=name)
