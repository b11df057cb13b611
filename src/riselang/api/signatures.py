"""What a function of a module asks of its caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.affine import StoreOp
from xdsl.dialects.builtin import ArrayAttr, MemRefType, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.module import location_of, walk
from riselang.dialects.rise.borders import InOp, OutOp
from riselang.dialects.rise.types import RiseType, ScalarType, index_bounds, leaves
from riselang.errors import LimitationError
from riselang.lazy import cached_property
from riselang.nat import Nat, nat_min
from riselang.runtime.executable import Parameter
from riselang.runtime.shapes import OpenLengths
from riselang.term.to_dialect import PARAMETERS

Border = InOp | OutOp


def given_names(function: FuncOp) -> list[str] | None:
    """What the parameters of a function are called, if its values have other names."""
    names = function.attributes.get(PARAMETERS)
    if not isinstance(names, ArrayAttr):
        return None
    found = [name.data for name in names if isinstance(name, StringAttr)]
    return found if len(found) == len(function.function_type.inputs) else None


@dataclass(frozen=True)
class Signature:
    """A function, and the positions of the parameters that its programs write."""

    name: str
    function: FuncOp
    written: frozenset[int]

    @staticmethod
    def of(function: FuncOp) -> Signature:
        borders = _borders(function)
        targets = {buffer for op in borders if isinstance(op, OutOp) for buffer in op.buffers}
        return Signature(function.sym_name.data, function, _positions(function, targets))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What a call passes; functions that nobody calls may have parameters that cannot be."""
        try:
            return tuple(_parameters(self.function, _borders(self.function)))
        except LimitationError as error:
            raise error.located(location_of(self.function)) from None


def is_public(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return not function.is_declaration and (visibility is None or visibility.data != "private")


def stored(function: FuncOp) -> frozenset[int]:
    """The positions of the parameters that affine stores of the function write."""
    return _positions(function, {op.memref for op in walk(function) if isinstance(op, StoreOp)})


def open_lengths(function: FuncOp) -> OpenLengths | None:
    """What programs with open sizes say of the shapes of the parameters of their function."""
    arguments: list[SSAValue] = list(function.body.blocks[0].args)
    # The inputs come first, since a mistake is told of them.
    borders = sorted(_borders(function), key=lambda op: isinstance(op, OutOp))
    dimensions = tuple(
        (arguments.index(buffer), lengths)
        for op in borders
        for buffer, lengths in _lengths(op)
        if buffer in arguments
    )
    if all(length.is_constant for _, lengths in dimensions for length in lengths):
        return None
    return dimensions


def _borders(function: FuncOp) -> list[Border]:
    return [op for op in walk(function) if isinstance(op, Border)]


def _lengths(op: Border) -> list[tuple[SSAValue, tuple[Nat, ...]]]:
    type = op.result.type if isinstance(op, InOp) else op.value.type
    assert isinstance(type, RiseType)
    parts = zip(op.buffers, leaves(type), strict=True)
    return [(buffer, lengths) for buffer, (lengths, _) in parts]


def _parameters(function: FuncOp, borders: Sequence[Border]) -> Iterable[Parameter]:
    bounds = _index_bounds(borders)
    names = given_names(function)
    for position, argument in enumerate(function.body.blocks[0].args):
        name = names[position] if names else argument.name_hint or f"arg{position}"
        yield _parameter(name, argument.type, bounds.get(argument))


def _index_bounds(borders: Sequence[Border]) -> dict[SSAValue, Nat]:
    """What the indices in each buffer must be below; of several bounds the smallest."""
    found: dict[SSAValue, Nat] = {}
    for op in borders:
        if isinstance(op, InOp):
            type = op.result.type
            assert isinstance(type, RiseType)
            for buffer, bound in zip(op.buffers, index_bounds(type), strict=True):
                if bound is not None:
                    found[buffer] = nat_min(bound, found.get(buffer, bound))
    return found


def _parameter(name: str, type: Attribute, bound: Nat | None) -> Parameter:
    element: Attribute = type.element_type if isinstance(type, MemRefType) else type
    if isinstance(type, MemRefType) and not isinstance(type.layout, NoneAttr):
        raise LimitationError(f"parameter {name}: {type} is not contiguous and cannot be passed")
    try:
        scalar = ScalarType(element)
    except (VerifyException, TypeError):
        raise LimitationError(
            f"parameter {name} of type {type} cannot be passed; take a number or a memref of "
            "numbers"
        ) from None
    shape = tuple(type.get_shape()) if isinstance(type, MemRefType) else None
    return Parameter(name, scalar, shape, bound=bound)


def _positions(function: FuncOp, values: set[SSAValue]) -> frozenset[int]:
    arguments = function.body.blocks[0].args
    return frozenset(at for at, argument in enumerate(arguments) if argument in values)
