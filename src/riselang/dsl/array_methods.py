"""The operators and methods of values that are composed of patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from riselang.dsl.argument_errors import with_argument_checks
from riselang.dsl.diagnostics import refuse

if TYPE_CHECKING:
    from riselang.dialects.rise.types import ScalarType
    from riselang.dsl.arrays.updates import Updates
    from riselang.dsl.symbolic_values import Value


class ArrayMethods:
    """The base class of values; the functions that define the methods work on values."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths of an array; those that are not known here are size expressions."""
        shapes = _shapes()
        return tuple(shapes.visible_length(length) for length in shapes.shape_of(self))

    @property
    def ndim(self) -> int:
        """The number of dimensions; 0 for a scalar."""
        return _shapes().rank_of(self)

    @property
    def size(self) -> Any:
        """The number of elements."""
        shapes = _shapes()
        return shapes.visible_length(shapes.product(shapes.shape_of(self)))

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return _shapes().scalar_dtype("dtype", cast("Value", self))

    @property
    def T(self) -> Value:  # noqa: N802
        """The array with its axes reversed."""
        return _layout().transpose(_shapes().as_array("T", self))

    @property
    def at(self) -> Updates:
        """The parts of an array that can be replaced: `x.at[i].set(y)`."""
        # Deferred: updates apply patterns to values.
        from riselang.dsl.arrays.updates import Updates

        return Updates(cast("Value", self))

    def transpose(self, *axes: Any) -> Value:
        """Return the array with its axes reversed, or in this order."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return _layout().transpose(_shapes().as_array("transpose", self), order or None)

    def reshape(self, *sizes: Any) -> Value:
        """Return the elements in another shape; a size of -1 is the one that remains."""
        return _layout().reshape(self, *sizes)

    def flatten(self) -> Value:
        """Return all elements as an array of one dimension."""
        return _layout().flatten(_shapes().as_array("flatten", self))

    ravel = flatten

    def squeeze(self, axis: Any = None) -> Value:
        """Return the array without axes of length 1."""
        return _layout().squeeze(self, axis)

    def astype(self, type: Any) -> Value:
        """Convert the elements to a scalar type."""
        # Deferred: the prelude applies patterns to values.
        from riselang.dsl.prelude import cast

        return cast(self, type)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Add the elements along these axes, from left to right."""
        return _reductions().sum(self, axis, keepdims)

    def prod(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Multiply the elements along these axes, from left to right."""
        return _reductions().prod(self, axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return the mean of the elements along these axes."""
        return _reductions().mean(self, axis, keepdims)

    def var(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Value:
        """Return the variance of the elements along these axes."""
        return _reductions().var(self, axis, keepdims, ddof)

    def std(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Value:
        """Return the standard deviation of the elements along these axes."""
        return _operations().build_operation("sqrt", self.var(axis, ddof, keepdims))

    def cumsum(self, axis: Any = None) -> Value:
        """Return the sums of the first 1, 2, ... elements along an axis, or of all elements."""
        return _selections().cumsum(self, axis)

    def clip(self, min: Any = None, max: Any = None) -> Value:
        """Limit the elements to the range from `min` to `max`; None does not limit them."""
        return _selections().clip(self, min, max)

    def dot(self, other: Any) -> Value:
        """Return the product `self @ other`."""
        return self @ other

    def round(self) -> Value:
        """Round floats to integers, halves to even; the type stays."""
        is_rounded = _shapes().is_float_array("round", self)
        return (
            _operations().build_operation("roundeven", self) if is_rounded else cast("Value", self)
        )

    def copy(self) -> Value:
        """Return the array itself, since arrays of a program never change."""
        return cast("Value", self)

    def max(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return the greatest element along these axes."""
        return _reductions().max(self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return the smallest element along these axes."""
        return _reductions().min(self, axis, keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return whether all elements along these axes are true, or not zero."""
        return _reductions().all(self, axis, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return whether an element along these axes is true, or not zero."""
        return _reductions().any(self, axis, keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return the position of the first maximum along an axis, or among all elements."""
        return _reductions().argmax(self, axis, keepdims)

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Return the position of the first minimum along an axis, or among all elements."""
        return _reductions().argmin(self, axis, keepdims)

    def __matmul__(self, other: Any) -> Value:
        # Deferred: products apply patterns to values.
        from riselang.dsl.arrays.products import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Value:
        # Deferred: products apply patterns to values.
        from riselang.dsl.arrays.products import matmul

        return matmul(other, self)

    def __truediv__(self, other: Any) -> Value:
        return _operators().quotient(self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return _operators().quotient(other, self)

    def __floordiv__(self, other: Any) -> Value:
        return _operators().floor_division(self, other)

    def __rfloordiv__(self, other: Any) -> Value:
        return _operators().floor_division(other, self)

    def __round__(self, digits: Any = None) -> Value:
        if digits:
            refuse(f"round: only integers are rounded to; use rl.numpy.round(x, {digits})")
        return self.round()

    def __mod__(self, other: Any) -> Value:
        return _operators().remainder(self, other)

    def __rmod__(self, other: Any) -> Value:
        return _operators().remainder(other, self)

    def __divmod__(self, other: Any) -> tuple[Value, Value]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Value, Value]:
        return other // self, other % self

    def __pow__(self, other: Any) -> Value:
        return _operators().power(self, other)

    def __rpow__(self, other: Any) -> Value:
        return _operators().power(other, self)


def _operations() -> Any:
    # Deferred: its functions work on values.
    from riselang.dsl import symbolic_values

    return symbolic_values


def _selections() -> Any:
    # Deferred: its functions work on values.
    from riselang.dsl.arrays import selections

    return selections


def _operators() -> Any:
    # Deferred: derived operators are composed of those of values.
    from riselang.dsl import derived_operators

    return derived_operators


def _shapes() -> Any:
    # Deferred: its functions work on values.
    from riselang.dsl.arrays import shapes

    return shapes


def _layout() -> Any:
    # Deferred: its functions work on values.
    from riselang.dsl.arrays import layout

    return layout


def _reductions() -> Any:
    # Deferred: its functions work on values.
    from riselang.dsl.arrays import reductions

    return reductions


for _name, _method in with_argument_checks(vars(ArrayMethods), "Array").items():
    if not _name.startswith("_"):
        setattr(ArrayMethods, _name, _method)
