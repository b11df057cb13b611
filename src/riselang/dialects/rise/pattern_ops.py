"""One op for each registered pattern: `rise.mapSeq {to = "affine"} #rise.nat<4> ...`.

The result of such an op is the pattern as a function value; `rise.apply` applies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.foreign_functions import DeclarationError, foreign_spec
from riselang.dialects.rise.operation import RiseOperation
from riselang.dialects.rise.pattern_registry import (
    KEYWORD_PARAMETERS,
    LOOP_DIALECTS,
    PATTERNS,
    TYPE_PARAMETERS,
)
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import type_variables
from riselang.dialects.rise.type_syntax import (
    TYPE_KEYWORDS,
    parse_nat_text,
    parse_type_body,
    print_bare_type,
)
from riselang.dialects.rise.types import DataType, FunType, NatAttr, RiseType
from riselang.nat import Nat
from riselang.support.counts import format_count


class PatternOp(RiseOperation):
    """Base class of the pattern ops; `SPEC` defines the pattern."""

    SPEC: ClassVar[PatternSpec]
    result = result_def(FunType)
    traits = traits_def(Pure())

    @classmethod
    def of(cls, arguments: Mapping[str, Argument], to: str | None = None) -> Self:
        """Create the op with these attributes; the scheme determines its type."""
        properties = {name: _to_attribute(value) for name, value in arguments.items()}
        if to is not None:
            properties["to"] = StringAttr(to)
        type = cls.SPEC.instantiate_in_dialect(arguments)
        return cls.create(result_types=[type], properties=properties)

    @property
    def spec(self) -> PatternSpec:
        return self.SPEC

    @property
    def arguments(self) -> dict[str, Argument]:
        return {name: _from_attribute(self.properties[name]) for name in self.spec.parameters}

    @property
    def target(self) -> str | None:
        to = self.properties.get("to")
        return to.data if isinstance(to, StringAttr) else None

    def verify_(self) -> None:
        if self.target is not None and self.target not in LOOP_DIALECTS:
            raise VerifyException(
                f'expected the attribute \'to\' to be "affine" or "scf", but found "{self.target}"'
            )
        arguments = self.arguments
        for name in self.spec.parameters:
            value = arguments[name]
            if isinstance(value, RiseType) and not self._are_bound(type_variables(value)):
                raise VerifyException(
                    f"expected a closed type for attribute {name}, but found {value}"
                )
        if (problem := argument_error(arguments) or self.spec.check(arguments)) is not None:
            raise VerifyException(problem)
        expected = self.spec.instantiate_in_dialect(arguments)
        if self.result.type != expected:
            raise VerifyException(
                f"expected a result of type {expected}, but found {self.result.type}"
            )

    def _are_bound(self, variables: Iterable[str]) -> bool:
        """Whether dependent lambdas around this op bind the variables."""
        unbound = set(variables)
        op = self.parent_op()
        while unbound and op is not None:
            parameter = op.properties.get("parameter")
            if op.name == "rise.depLambda" and isinstance(parameter, StringAttr):
                unbound.discard(parameter.data)
            op = op.parent_op()
        return not unbound

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        to = attributes.pop("to", None)
        arguments: dict[str, Argument] = {}
        for name in cls.SPEC.parameters:
            arguments[name] = _parse_argument(parser, name, cls.name)
        position = parser.pos
        try:
            op = cls.of(arguments)
        except VerifyException as error:
            parser.raise_error(str(error), position)
        if to is not None:
            if not cls.SPEC.has_target:
                parser.raise_error(
                    f"{cls.name} generates no loop, so it has no attribute 'to'", position
                )
            op.properties["to"] = to
        op.attributes.update(attributes)
        _parse_trailing_type(parser, op.result)
        return op

    def print(self, printer: Printer) -> None:
        attributes = dict(self.attributes)
        if "to" in self.properties:
            attributes = {"to": self.properties["to"], **attributes}
        printer.print_op_attributes(attributes)
        for name in self.spec.parameters:
            printer.print_string(" ")
            print_nat_or_type(printer, self.properties[name])


@irdl_op_definition
class ForeignOp(PatternOp):
    """A C function as a pattern: `rise.foreign "double f(double)" "libf.so"`.

    Three strings are the declaration, the library and the vector variants; the sizes of the arrays
    follow. With the attribute `lanes`, the function is applied to each lane of vectors.
    """

    name = "rise.foreign"
    declaration = prop_def(StringAttr)
    library = prop_def(StringAttr)
    vectors = prop_def(StringAttr)
    lanes = opt_prop_def(UnitAttr)
    sizes = prop_def(ArrayAttr[NatAttr])

    @property
    def spec(self) -> PatternSpec:
        return self._find_spec(
            self.declaration.data, self.library.data, self.vectors.data, self.lanes is not None
        )

    @staticmethod
    def _find_spec(declaration: str, library: str, vectors: str, is_lanewise: bool) -> PatternSpec:
        try:
            return foreign_spec(declaration, library, vectors, is_lanewise=is_lanewise)
        except DeclarationError as error:
            raise VerifyException(f"foreign '{declaration}': {error}") from None

    @property
    def arguments(self) -> dict[str, Argument]:
        names = self.spec.parameters
        if len(names) != len(self.sizes.data):
            raise VerifyException(
                f"expected {format_count(len(names), 'size')}, but found {len(self.sizes.data)}"
            )
        return {name: size.data for name, size in zip(names, self.sizes.data, strict=True)}

    @classmethod
    def of_spec(cls, spec: PatternSpec, arguments: Mapping[str, Argument]) -> Self:
        """Create the op for a C function with these sizes."""
        function = spec.foreign
        assert function is not None
        texts = map(StringAttr, function.texts)
        properties: dict[str, Attribute] = dict(
            zip(("declaration", "library", "vectors"), texts, strict=True)
        )
        if function.is_lanewise:
            properties["lanes"] = UnitAttr()
        properties["sizes"] = ArrayAttr(_to_attribute(size) for size in arguments.values())
        return cls.create(
            result_types=[spec.instantiate_in_dialect(arguments)], properties=properties
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        is_lanewise = attributes.pop("lanes", None) is not None
        position = parser.pos
        texts = [parser.parse_str_literal(" with a C declaration")]
        while len(texts) < 3 and (text := parser.parse_optional_str_literal()) is not None:
            texts.append(text)
        declaration, library, vectors = [*texts, "", ""][:3]
        try:
            spec = cls._find_spec(declaration, library, vectors, is_lanewise)
        except VerifyException as error:
            parser.raise_error(str(error), position)
        arguments = {name: _parse_argument(parser, name, cls.name) for name in spec.parameters}
        op = cls.of_spec(spec, arguments)
        op.attributes.update(attributes)
        _parse_trailing_type(parser, op.result)
        return op

    def print(self, printer: Printer) -> None:
        lanes = {} if self.lanes is None else {"lanes": UnitAttr()}
        printer.print_op_attributes({**lanes, **self.attributes})
        function = self.spec.foreign
        assert function is not None
        for text in function.literals:
            printer.print_string(" ")
            printer.print_string_literal(text)
        for size in self.sizes.data:
            printer.print_string(" ")
            printer.print_attribute(size)


def print_nat_or_type(printer: Printer, value: Attribute) -> None:
    if isinstance(value, NatAttr | StringAttr):
        printer.print_attribute(value)
    else:
        printer.print_string("#rise.")
        print_bare_type(printer, cast(RiseType, value))


def parse_nat_or_type(parser: Parser) -> Nat | RiseType:
    """`#rise.nat<4>` or `#rise.scalar<f32>`."""
    token = parser._parse_optional_token(  # pyright: ignore[reportPrivateUsage]
        MLIRTokenKind.HASH_IDENT
    )
    keyword = "" if token is None else token.text.removeprefix("#").removeprefix("rise.")
    if keyword == "nat":
        with parser.in_angle_brackets():
            return parse_nat_text(parser)
    if keyword not in TYPE_KEYWORDS:
        parser.raise_error("expected a size such as #rise.nat<4>, or a data type here")
    return parse_type_body(parser, keyword)


def argument_error(arguments: Mapping[str, Argument]) -> str | None:
    """What is wrong with an argument, independent of the pattern."""
    for name, value in arguments.items():
        if isinstance(value, Nat) and value.is_constant and value.constant < 0:
            return f"{name} is a length, which cannot be negative, but is {value}"
        if isinstance(value, str) and value not in KEYWORD_PARAMETERS[name]:
            known = ", ".join(KEYWORD_PARAMETERS[name])
            return f"{name} must be one of {known}, but is {value}"
    return None


def _to_attribute(value: Argument) -> Attribute:
    if isinstance(value, Nat):
        return NatAttr(value)
    return StringAttr(value) if isinstance(value, str) else value


def _from_attribute(attribute: Attribute) -> Argument:
    if isinstance(attribute, NatAttr | StringAttr):
        return attribute.data
    return cast(RiseType, attribute)


def _parse_argument(parser: Parser, name: str, op_name: str) -> Argument:
    """`#rise.nat<4>`, `#nat<4>`, `#rise.scalar<f32>`, `#scalar<f32>` or `"heap"`."""
    if name in KEYWORD_PARAMETERS:
        return parser.parse_str_literal(f" for attribute {name} of {op_name}")
    is_type = name in TYPE_PARAMETERS
    what = "a data type such as #rise.scalar<f32>" if is_type else "a size such as #rise.nat<4>"
    token = parser._parse_optional_token(  # pyright: ignore[reportPrivateUsage]
        MLIRTokenKind.HASH_IDENT
    )
    if token is None:
        parser.raise_error(f"expected {what} for attribute {name} of {op_name}")
    keyword = token.text.removeprefix("#").removeprefix("rise.")
    if keyword == "nat" and not is_type:
        with parser.in_angle_brackets():
            return parse_nat_text(parser)
    if keyword not in TYPE_KEYWORDS or not is_type:
        parser.raise_error(
            f"expected {what} for attribute {name} of {op_name}, but found {token.text}", token.span
        )
    position = parser.pos
    type = parse_type_body(parser, keyword)
    if not isinstance(type, DataType):
        parser.raise_error(
            f"attribute {name} of {op_name} must be a data type, but {type} is a function type",
            position,
        )
    return type


def _parse_trailing_type(parser: Parser, value: SSAValue) -> None:
    """Parse the type that may follow a pattern, which must be the pattern's type."""
    if parser.parse_optional_punctuation(":") is None:
        return
    position = parser.pos
    written = parser.parse_type()
    if written != value.type:
        parser.raise_error(
            f"this type is {written}, but the value has the type {value.type}", position
        )


parse_trailing_type = _parse_trailing_type


def _attribute_class(name: str) -> type[Attribute]:
    if name in KEYWORD_PARAMETERS:
        return StringAttr
    return DataType if name in TYPE_PARAMETERS else NatAttr


def _make_pattern_op(spec: PatternSpec) -> type[PatternOp]:
    fields: dict[str, object] = {name: prop_def(_attribute_class(name)) for name in spec.parameters}
    if spec.has_target:
        fields["to"] = opt_prop_def(StringAttr)
    class_name = f"{spec.name[0].upper()}{spec.name[1:]}Op"
    members: dict[str, object] = {
        "name": f"rise.{spec.name}",
        "__doc__": spec.dialect_description,
        "__annotations__": {"SPEC": ClassVar[PatternSpec]},
        "SPEC": spec,
    }
    return irdl_op_definition(type(class_name, (PatternOp,), members | fields))


PATTERN_OPS: Mapping[str, type[PatternOp]] = {
    name: _make_pattern_op(spec) for name, spec in PATTERNS.items() if spec.in_dialect
}
