"""Arrays of row pointers as arguments in Python: matrices, and sequences of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.frontends.c.parse.syntax import Variable
from riselang.runtime.arrays import Array, address, as_array, check_layout
from riselang.support.errors import UserError


@dataclass(frozen=True)
class RowArgument:
    """The rows of an argument."""

    rows: tuple[Array, ...]
    table: Array
    """Their addresses."""

    @property
    def matrix(self) -> Array:
        """An array with the lengths that all rows have; its elements are not theirs."""
        if not self.rows:
            return np.zeros((0, 0))
        shape = (len(self.rows), min(row.size for row in self.rows))
        return np.lib.stride_tricks.as_strided(self.rows[0], shape, (0, self.rows[0].itemsize))


def read_rows(argument: Any, variable: Variable, *, is_written: bool) -> RowArgument:
    """Check an argument for an array of row pointers."""
    name, dtype = variable.name, variable.type.dtype
    if not isinstance(argument, np.ndarray | Sequence):
        raise UserError(
            f"argument {name}: expected a matrix or a sequence of rows, but found "
            f"{type(argument).__name__}"
        )
    rows: list[Array] = []
    for row in argument:
        array = as_array(row, name)
        if array.dtype != dtype or array.ndim != 1:
            raise UserError(
                f"argument {name}: expected rows of {dtype} ({variable.type}), but found an array "
                f"of {array.dtype} with {array.ndim} dimensions"
            )
        check_layout(array, name, written=is_written)
        rows.append(array)
    return RowArgument(tuple(rows), np.array([*map(address, rows)], np.int64))
