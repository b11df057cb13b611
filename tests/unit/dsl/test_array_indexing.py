"""Keys of arrays and updates of parts beside NumPy and JAX's meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.array_programs import check_beside_numpy


def numbers(*shape: int, dtype: Any = np.int32) -> Any:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape) * 3 % 17


KEYS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: (x[1, 2, 3], x[-1, -2, -1], x[1][0]),
    "slices": lambda x: (x[1:], x[:, 1:3], x[:, -2:, :-1], x[0:9, 2:1]),
    "steps": lambda x: (x[:, ::2], x[..., 1::2], x[:, :, ::3], x[:, 5::-2]),
    "reversed": lambda x: (x[::-1], x[:, 3:0:-1], x[:, :, ::-2], x[:, -2:-9:-3, -1]),
    "ellipsis": lambda x: (x[..., 0], x[0, ..., 1:], x[...], x[1, ...]),
    "new axes": lambda x: (x[None], x[:, None, 0], x[..., None], x[0, None, 1, None, 2:3]),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_selects_what_numpy_selects(name: str) -> None:
    check_beside_numpy(KEYS[name], [numbers(2, 4, 5)])


GATHERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "rows": lambda x, i, j: (x[i], x[j]),
    "inner": lambda x, i, j: (x[:, i], x[0, i], x[..., i, 1:]),
    "several": lambda x, i, j: (x[i, j], x[j, i, 0], x[:, i, i]),
    "shapes": lambda x, i, j: (x[i[:, None], j[None, :]], x[i.reshape(2, 1)]),
    "computed": lambda x, i, j: (x[i[0]], x[1 - j[1], :, 1], x[i * 0 - 1]),
}


@pytest.mark.parametrize("name", GATHERS)
def test_arrays_of_integers_gather_elements(name: str) -> None:
    i, j = np.array([1, -2]), np.array([0, 1], np.int32)
    check_beside_numpy(GATHERS[name], [numbers(2, 2, 3), i, j])


def changed(x: Any, key: Any, values: Any, function: Any = None) -> Any:
    """What NumPy computes; `function` has a method `at` for repeated indices."""
    result = x.copy()
    if function is None:
        result[key] = values
    else:
        function.at(result, key, values)
    return result


UPDATES: dict[str, Any] = {
    "element": np.s_[1, 2],
    "row": np.s_[-1],
    "column": np.s_[:, 0],
    "slice": np.s_[1:3, 1:],
    "steps": np.s_[::2, 3::-2],
    "all": np.s_[...],
    "new axis": np.s_[None, 1],
}


@pytest.mark.parametrize("name", UPDATES)
def test_a_part_is_replaced(name: str) -> None:
    x, key = numbers(4, 5), UPDATES[name]
    check_beside_numpy(lambda x: x.at[key].set(7), [x], changed(x, key, 7))
    check_beside_numpy(lambda x: x.at[key].add(x[key]), [x], changed(x, key, x[key], np.add))
    check_beside_numpy(lambda x: x.at[key].max(6), [x], changed(x, key, 6, np.maximum))
    check_beside_numpy(lambda x: x.at[key].multiply(2), [x], changed(x, key, 2, np.multiply))


def test_repeated_indices_are_combined() -> None:
    x, i, y = numbers(4, 3), np.array([1, 3, 1, -3]), np.array([5, 6, 7, 8], np.int32)
    new = y[:, None]
    check_beside_numpy(lambda x, i, y: x.at[i].set(y[:, None]), [x, i, y], changed(x, i, new))
    check_beside_numpy(
        lambda x, i, y: x.at[i].add(y[:, None]), [x, i, y], changed(x, i, new, np.add)
    )
    key = (i, 2)
    check_beside_numpy(lambda x, i, y: x.at[i, 2].add(y), [x, i, y], changed(x, key, y, np.add))
    check_beside_numpy(
        lambda x, i, y: x.at[i, ::2].min(y[0]), [x, i, y],
        changed(x, (i, np.s_[::2]), y[0], np.minimum),
    )  # fmt: skip


@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_keys_with_symbolic_lengths(backend: str) -> None:
    def program(x: rl.Array["N", rl.i32]):
        n = x.shape[0]
        return x[1:-1], x[-1], x[::2], x[::-1], x[: n - 1], x.at[1:].set(0), x[1::3]

    kernel = rl.jit(program, sizes="symbolic", backend=backend)
    x = numbers(8)
    expected = (x[1:-1], x[-1], x[::2], x[::-1], x[:-1], changed(x, np.s_[1:], 0), x[1::3])
    for found, reference in zip(kernel(x), expected, strict=True):
        assert found.tolist() == reference.tolist()


@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_an_integer_out_of_range_raises_an_error(backend: str) -> None:
    @rl.jit(backend=backend)
    def pick(x: rl.Array["N", rl.f32], i: rl.Array["M", rl.i32]):
        return x[i]

    x = np.arange(3, dtype=np.float32)
    assert pick(x, np.array([-1, 2], np.int32)).tolist() == [2, 2]
    with pytest.raises(IndexError):
        pick(x, np.array([0, 3], np.int32))


MASKED_UPDATES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "all axes": (lambda x: x.at[x > 8].set(-1), lambda x: np.where(x > 8, -1, x)),
    "rows": (
        lambda x: x.at[x[:, 0] > 2].add(x[0]),
        lambda x: np.where(x[:, :1] > 2, x + x[0], x),
    ),
    "columns": (
        lambda x: x.at[:, x[0] > 2].multiply(2),
        lambda x: np.where(x[0] > 2, x * 2, x),
    ),
    "Boolean": (lambda x: x.at[x[0, 1] > 2].add(1), lambda x: x + 1),
    "extremes": (
        lambda x: x.at[x % 2 == 0, ...].max(5).at[x > 9].min(9),
        lambda x: np.minimum(np.where(x % 2 == 0, np.maximum(x, 5), x), 9 + 99 * (x <= 9)),
    ),
}


@pytest.mark.parametrize("name", MASKED_UPDATES)
def test_a_mask_selects_the_elements_to_change(name: str) -> None:
    program, reference = MASKED_UPDATES[name]
    x = numbers(3, 4)
    check_beside_numpy(program, [x], reference(x).astype(np.int32))


def test_a_known_mask_selects_elements() -> None:
    x, mask = numbers(3, 4), numbers(3, 4) > 8
    check_beside_numpy(lambda x: (x[mask], x[mask[:, 0]], x[1, mask[1]], x[mask & False]), [x])
    check_beside_numpy(lambda x: x[[True, False, True]], [x])
    y = np.arange(mask.sum(), dtype=np.int32)
    check_beside_numpy(lambda x: x.at[mask].add(y), [x], changed(x, mask, y, np.add))
    long = np.arange(100) % 3 == 0
    check_beside_numpy(lambda x: x[long], [np.arange(100)])


WRONG_MASKS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "selection": (lambda x: x[x > 0], "rl.compress.mask, x. returns the selected"),
    "values": (lambda x: x.at[x > 0].set(x), "takes one value y for all elements"),
    "shape": (lambda x: x.at[x[0] > 0].set(0), r"its shape is \(4,\), and that of the axes is"),
    "known shape": (lambda x: x[np.ones(5, bool)], r"its shape is \(5,\)"),
    "other keys": (lambda x: x.at[0, x[0] > 0].set(0), "only with ':' and '...'"),
    "assignment": (lambda x: x.__setitem__(x > 0, 1), r"x = x.at\[key\].set\(y\)"),
}


@pytest.mark.parametrize("name", WRONG_MASKS)
def test_a_wrong_mask_is_explained(name: str) -> None:
    program, message = WRONG_MASKS[name]
    with pytest.raises(rl.UserError, match=message):
        rl.jit(program)(numbers(3, 4))


def test_a_captured_array_of_indices_is_not_written_out() -> None:
    indices = np.arange(100)[::-1] % 7
    x = np.arange(7.0)
    select = rl.jit(lambda x: x[indices])
    assert len(select.trace(x).as_text().splitlines()) < 10
    assert select(x).tolist() == x[indices].tolist()


def test_the_counter_of_a_loop_is_an_index() -> None:
    x = np.arange(4.0)
    total = rl.jit(lambda x: rl.iterate(4, lambda i, a: (i + 1, a + x[i]), (0, 0.0))[1])
    assert total(x) == 6
    ones = rl.jit(
        lambda x: rl.while_(lambda i, a: i < 2, lambda i, a: (i + 1, a.at[i].set(1)), (0, x))
    )
    assert ones(x)[1].tolist() == [1, 1, 2, 3]
    assert rl.jit(lambda x: x[rl.cast(2, rl.i32)])(x) == 2


def test_python_iterates_over_arrays_of_known_lengths() -> None:
    def program(A: Any) -> Any:
        first, *others = A
        total = sum(each[1] for each in others)
        return first + total, [left * right for left, right in zip(A[0], A[1], strict=True)]

    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    total, products = rl.jit(program, backend="interpret")(rows)
    assert total.tolist() == (rows[0] + rows[1:, 1].sum()).tolist()
    assert [float(each) for each in products] == (rows[0] * rows[1]).tolist()
    with pytest.raises(rl.UserError, match=r"the length of A_0\.A_1\.f32 is not known"):
        rl.jit(program, sizes="symbolic")(rows)
    with pytest.raises(rl.UserError, match="and this array has 1001 of them"):
        rl.jit(lambda x: sum(x))(np.ones(1001))
