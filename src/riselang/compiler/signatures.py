"""The signatures of functions: parameters, their shapes, and whether they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.affine import StoreOp
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, MemRefType, NoneAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.module import location_of, walk
from riselang.dialects.rise.interface_ops import InOp, OutOp
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    RiseType,
    ScalarType,
    index_bounds,
    leaves,
    result_types,
    uncurry,
)
from riselang.lowering.runtime_checks import failure_parameter
from riselang.nat import Nat, nat_min
from riselang.runtime.executable import Parameter
from riselang.runtime.shapes import DynamicDimensions
from riselang.support.errors import LimitationError
from riselang.support.lazy import cached_property
from riselang.term.nodes import Term
from riselang.term.to_dialect import PARAMETERS, UNSIGNED, FunctionShell


@dataclass(frozen=True)
class BufferBinding:
    """An input or result of a program, with the buffers that hold it."""

    buffers: tuple[SSAValue, ...]
    type: RiseType
    is_written: bool


@dataclass(frozen=True)
class Signature:
    """A function, with the inputs and results of its programs."""

    function: FuncOp
    bindings: tuple[BufferBinding, ...]

    @staticmethod
    def of(function: FuncOp) -> Signature:
        """Return the signature of a function that contains its programs."""
        ops = [op for op in walk(function) if isinstance(op, InOp | OutOp)]
        return Signature(function, tuple(map(_buffer_binding, ops)))

    @staticmethod
    def of_shell(shell: FunctionShell, term: Term) -> Signature:
        """Return the signature of a function that was generated for a program."""
        inputs = zip(shell.inputs, uncurry(term.type)[0], strict=True)
        results = zip(shell.outputs, result_types(term.type, len(shell.outputs)), strict=True)
        read = [BufferBinding(buffers, type, False) for buffers, type in inputs]
        outputs = [BufferBinding(buffers, type, True) for buffers, type in results]
        return Signature(shell.function, (*read, *outputs))

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    @property
    def is_public(self) -> bool:
        return is_public(self.function)

    @property
    def is_callable(self) -> bool:
        """Whether it can be called from outside."""
        return self.is_public and not self.function.function_type.outputs.data

    @cached_property
    def written(self) -> frozenset[int]:
        """The positions of the parameters that its programs write."""
        targets = {each for border in self.bindings if border.is_written for each in border.buffers}
        return _argument_positions(self.function, targets)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of a call; an error if one cannot be passed from Python."""
        try:
            return tuple(_parameters(self.function, self.bindings))
        except LimitationError as error:
            raise error.with_location(location_of(self.function)) from None

    @cached_property
    def dynamic_dimensions(self) -> DynamicDimensions | None:
        """The symbolic shapes of the parameters; None if all dimensions are static."""
        arguments: list[SSAValue] = list(self.function.body.blocks[0].args)
        # Inputs come first, so that an error names an input.
        borders = sorted(self.bindings, key=lambda border: border.is_written)
        dimensions = tuple(
            (arguments.index(buffer), lengths)
            for border in borders
            for buffer, (lengths, _) in zip(border.buffers, leaves(border.type), strict=True)
            if buffer in arguments
        )
        if all(length.is_constant for _, lengths in dimensions for length in lengths):
            return None
        return dimensions


def refuse_results(signatures: Iterable[Signature]) -> None:
    """Reject functions that return values, which cannot be called from Python."""
    for signature in signatures:
        if signature.is_public and not signature.is_callable:
            raise LimitationError(
                f"function {signature.name} returns values; only functions that write to "
                "buffers can be called",
                location_of(signature.function),
            )


def _buffer_binding(op: InOp | OutOp) -> BufferBinding:
    type = op.result.type if isinstance(op, InOp) else op.value.type
    assert isinstance(type, RiseType)
    return BufferBinding(tuple(op.buffers), type, isinstance(op, OutOp))


def is_public(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return not function.is_declaration and (visibility is None or visibility.data != "private")


def stored_parameters(function: FuncOp) -> frozenset[int]:
    """Return the positions of the parameters that affine stores of the function write."""
    return _argument_positions(
        function, {op.memref for op in walk(function) if isinstance(op, StoreOp)}
    )


def _parameter_names(function: FuncOp) -> list[str] | None:
    """Return the parameter names in a function's attribute, if its SSA names differ from them."""
    names = function.attributes.get(PARAMETERS)
    if not isinstance(names, ArrayAttr):
        return None
    known_names = [name.data for name in names if isinstance(name, StringAttr)]
    count = len(function.function_type.inputs) - (failure_parameter(function) is not None)
    return known_names if len(known_names) == count else None


def _parameters(function: FuncOp, bindings: Sequence[BufferBinding]) -> Iterable[Parameter]:
    bounds = _index_bounds(bindings)
    unsigned = _unsigned_positions(function, bindings)
    names = _parameter_names(function)
    failure = failure_parameter(function)
    for position, argument in enumerate(function.body.blocks[0].args):
        if argument is not failure:
            name = names[position] if names else argument.name_hint or f"arg{position}"
            parameter = _parameter(name, argument.type, bounds.get(argument))
            is_unsigned = position in unsigned
            element = SCALAR_NAMES[parameter.type.unsigned] if is_unsigned else parameter.element
            yield replace(parameter, element=element)


def _unsigned_positions(function: FuncOp, bindings: Sequence[BufferBinding]) -> frozenset[int]:
    """Return the positions of the parameters that hold unsigned integers.

    Buffers are signless: the types of the program, or an attribute in later stages, determine it.
    """
    buffers = {
        buffer
        for border in bindings
        for buffer, (_, leaf) in zip(border.buffers, leaves(border.type), strict=True)
        if leaf.is_unsigned
    }
    attribute = function.attributes.get(UNSIGNED)
    positions = attribute.get_values() if isinstance(attribute, DenseArrayBase) else ()
    return _argument_positions(function, buffers) | frozenset(map(int, positions))


def _index_bounds(bindings: Sequence[BufferBinding]) -> dict[SSAValue, Nat]:
    """Return the upper bound of the indices in each buffer; the smallest if there are several."""
    bounds: dict[SSAValue, Nat] = {}
    for border in bindings:
        if not border.is_written:
            for buffer, bound in zip(border.buffers, index_bounds(border.type), strict=True):
                if bound is not None:
                    bounds[buffer] = nat_min(bound, bounds.get(buffer, bound))
    return bounds


def _parameter(name: str, type: Attribute, bound: Nat | None) -> Parameter:
    element: Attribute = type.element_type if isinstance(type, MemRefType) else type
    if isinstance(type, MemRefType) and not isinstance(type.layout, NoneAttr):
        raise LimitationError(f"parameter {name}: {type} is not contiguous and cannot be passed")
    try:
        scalar = ScalarType(element)
    except (VerifyException, TypeError):
        raise LimitationError(
            f"parameter {name} of type {type} cannot be passed; use a scalar or a memref of scalars"
        ) from None
    shape = tuple(type.get_shape()) if isinstance(type, MemRefType) else None
    return Parameter(name, SCALAR_NAMES[scalar], shape, bound=bound)


def _argument_positions(function: FuncOp, values: set[SSAValue]) -> frozenset[int]:
    arguments = function.body.blocks[0].args
    return frozenset(position for position, argument in enumerate(arguments) if argument in values)
