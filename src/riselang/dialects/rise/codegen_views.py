"""Steps of access paths that are views: each is a pattern of one argument, to read or to write.

They are generated from the pattern registry. Those that end in `Acc` are on the store side: the
result of the pattern is written as its argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import ClassVar, TypeAlias, cast

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.scheme_matching import match_scheme
from riselang.dialects.rise.traits import ReadsScalars
from riselang.dialects.rise.types import (
    ArrayType,
    DataType,
    NatAttr,
    RiseType,
    TupleType,
    VectorType,
    uncurry,
)
from riselang.dialects.rise.view_routes import Path, Route, SizeAttribute, View, make_route
from riselang.nat import Nat


def data_type(value: SSAValue) -> RiseType:
    if not isinstance(value.type, DataType):
        raise VerifyException(f"expected RISE data, but found {value.type}")
    return value.type


class ViewOp(RiseOperation):
    """Base class of the steps with one operand; the pattern relates operand and result."""

    SPEC: ClassVar[PatternSpec]
    VIEW: ClassVar[View]
    IS_STORE: ClassVar[bool]
    """On the store side, the pattern maps the result type to the operand type."""
    ROUTE: ClassVar[Route]
    """Maps a path into the result to a path into the operand."""
    ROUTE_SIZES: ClassVar[Sequence[SizeReader]]
    HEADROOM: ClassVar[Route | None]
    """An expression that is negative for elements that are not stored; None if all are stored."""
    SIZES: ClassVar[Mapping[str, SizeReader]]

    source = operand_def(DataType)
    result = result_def(DataType)
    traits = traits_def(ReadsScalars())

    def __init__(self, source: SSAValue, type: RiseType, kept: NatAttr | None = None):
        super().__init__(operands=[source], result_types=[type])
        if kept is not None:
            assert self.VIEW.size_attribute is not None
            self.properties[self.VIEW.size_attribute.attribute] = kept

    def size(self, name: str) -> Nat:
        """The value of a pattern parameter that is a size."""
        return self.SIZES[name](self)

    def map_path(self, path: Path) -> Path:
        """Map a path into the result to a path into the operand."""
        return self.ROUTE([read(self) for read in self.ROUTE_SIZES], path)

    def headroom(self, path: Path) -> Nat:
        """The expression that is negative if the element at a path is not stored."""
        assert self.HEADROOM is not None
        found = self.HEADROOM([self.size(name) for name in self.HEADROOM.sizes], path)[0]
        assert isinstance(found, Nat)
        return found

    def verify_(self) -> None:
        before, after = data_type(self.source), data_type(self.result)
        if self.IS_STORE:
            before, after = after, before
        kept = self.VIEW.size_attribute
        known = {} if kept is None else {kept.parameter: self.size(kept.parameter)}
        if match_scheme(self.SPEC.type, [before, after], known) is None:
            raise VerifyException(
                f"{self.source.type} and {self.result.type} are not related by {self.SPEC}"
            )


class ShiftedPadOp(ViewOp):
    """Base class of the pads that need the number of elements on the left."""

    left = prop_def(NatAttr)


SizeReader: TypeAlias = Callable[[ViewOp], Nat]
AttributePath: TypeAlias = "tuple[str, ...]"
"""The attribute names that lead from an op to one of the lengths in its types."""


def _size_readers(spec: PatternSpec, is_store: bool) -> Mapping[str, SizeReader]:
    """Functions that read the sizes of a pattern from the types and the attribute of a step.

    A size that is a length is read directly; a size in a sum is a length minus the other terms.
    """
    assert spec.view is not None
    inputs, output = uncurry(spec.type)
    before, after = ("result", "source") if is_store else ("source", "result")
    readers: dict[str, SizeReader] = {}
    if spec.view.size_attribute is not None:
        readers[spec.view.size_attribute.parameter] = _attribute_reader(spec.view.size_attribute)
    lengths = [*_lengths(inputs[0], (before, "type")), *_lengths(output, (after, "type"))]
    for hops, length in sorted(lengths, key=lambda each: (len(each[1].variables), len(each[0]))):
        names = [name for name in length.variables if name not in readers]
        if len(names) == 1 and length == Nat.var(names[0]):
            readers[names[0]] = attrgetter(".".join(hops))
        elif len(names) == 1 and (rest := length - Nat.var(names[0])).variables <= readers.keys():
            readers[names[0]] = _difference_reader(hops, rest, readers)
    return readers


def _lengths(type: RiseType, hops: AttributePath) -> Iterator[tuple[AttributePath, Nat]]:
    if isinstance(type, ArrayType | VectorType):
        yield (*hops, "length"), type.length
        yield from _lengths(type.element, (*hops, "element"))
    elif isinstance(type, TupleType):
        yield from _lengths(type.first, (*hops, "first"))
        yield from _lengths(type.second, (*hops, "second"))


def _attribute_reader(kept: SizeAttribute) -> SizeReader:
    def read(op: ViewOp) -> Nat:
        size = op.properties[kept.attribute]
        assert isinstance(size, NatAttr)
        return size.data

    return read


def _difference_reader(
    hops: AttributePath, rest: Nat, readers: Mapping[str, SizeReader]
) -> SizeReader:
    whole: SizeReader = attrgetter(".".join(hops))
    known = {name: readers[name] for name in rest.variables}

    def read(op: ViewOp) -> Nat:
        return whole(op) - rest.substitute({name: size(op) for name, size in known.items()})

    return read


def _make_view_op(spec: PatternSpec, is_store: bool) -> type[ViewOp]:
    view = spec.view
    assert view is not None
    function = view.store if is_store else view.read
    assert function is not None
    ending = "Acc" if is_store else ""
    base: type[ViewOp] = ShiftedPadOp if view.is_pad else ViewOp
    kept = (
        ""
        if view.size_attribute is None
        else f"`{view.size_attribute.keyword}` ${view.size_attribute.attribute} "
    )
    path, sizes = make_route(spec.name, spec.parameters, function), _size_readers(spec, is_store)
    constants: dict[str, object] = {
        "SPEC": spec,
        "VIEW": view,
        "IS_STORE": is_store,
        "ROUTE": path,
        "ROUTE_SIZES": tuple(sizes[name] for name in path.sizes),
        "HEADROOM": make_route(spec.name, spec.parameters, view.headroom)
        if is_store and view.headroom
        else None,
        "SIZES": sizes,
    }
    members: dict[str, object] = {
        "name": f"rise.codegen.{spec.name}{ending}",
        "assembly_format": f"$source {kept}attr-dict `:` type($source) `->` type($result)",
        "__doc__": view.store_description if is_store else view.read_description,
        "__annotations__": dict.fromkeys(constants, ClassVar[object]),
    }
    if view.size_attribute is not None and not hasattr(base, view.size_attribute.attribute):
        members[view.size_attribute.attribute] = prop_def(NatAttr)
    class_name = f"{spec.name[0].upper()}{spec.name[1:]}{ending}Op"
    made = type(class_name, (base,), members | constants)
    return irdl_op_definition(cast("type[ViewOp]", made))


READ_OPS: Mapping[str, type[ViewOp]] = {
    name: _make_view_op(spec, is_store=False)
    for name, spec in PATTERNS.items()
    if spec.view is not None
}
"""The op that reads a view, by the name of the pattern."""
STORE_OPS: Mapping[str, type[ViewOp]] = {
    name: _make_view_op(spec, is_store=True)
    for name, spec in PATTERNS.items()
    if spec.view is not None and spec.view.store is not None
}
"""The op that stores through a view, by the name of the pattern, if it has one."""
