"""Reads StableHLO modules, text or bytecode, as plain Python values.

The MLIR wheel parses and verifies them in a worker process, inlines calls, and converts CHLO ops to
StableHLO ops, except those for which the math library has a function.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from riselang.native.mlir import bindings as mlir
from riselang.native.mlir.bytecode import bytecode_to_text
from riselang.native.mlir.element_dtypes import SMALL_FLOATS, dtype_of
from riselang.native.mlir.stablehlo_graph import (
    GraphBlock,
    GraphFunction,
    GraphOp,
    GraphValue,
    OpaqueAttribute,
    TensorKind,
)
from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated
from riselang.support.errors import LimitationError, RiseError, SourceLocation, UserError
from riselang.support.forking import hold_forks
from riselang.support.profiling import time_span

LIBRARY_CHLO = frozenset(
    f"chlo.{name}" for name in ("erf", "tan", "sinh", "cosh", "asin", "acos", "atan")
)
"""CHLO ops that are kept, as custom calls with their names."""
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"(?!:\d)')
_RESOURCE = re.compile(r'(?:"([^"]*)"|([\w.$-]+))\s*:\s*"0x([0-9A-Fa-f]*)"')
_RESOURCE_NAME = re.compile(r'dense_resource<(?:"([^"]*)"|([^>]*))>')


def read_functions(
    source: str | bytes, name: str, types: Sequence[str] | None = None
) -> dict[str, GraphFunction]:
    """Read the public functions of a module, with calls inlined; errors refer to it by `name`.

    `types` are the argument types of `main`, if the module has dynamic dimensions.
    """
    with time_span("MLIR"):
        text = source if isinstance(source, str) else bytecode_to_text(source, name)
        try:
            return call_isolated(_read_functions, text, name, types)
        except WorkerDied as error:
            raise _crash_error(name, error) from None


def _read_functions(
    source: str, name: str, types: Sequence[str] | None
) -> dict[str, GraphFunction]:
    with open_module(source, name, types) as (wheel, module):
        return ModuleReader(wheel, module, name, source).functions()


@contextmanager
def open_module(
    source: str, name: str, types: Sequence[str] | None = None
) -> Generator[tuple[Any, Any]]:
    """Parse a module in its own context in this process, and inline its calls."""
    wheel, context = _new_stablehlo_context()
    ir = wheel.ir
    with hold_forks(), context, ir.Location.unknown():
        try:
            module = _parse_module(wheel, source)
            _check_op_names(wheel, module, name, source)
            _simplify_module(wheel, module, types)
        except ir.MLIRError as error:
            raise _parse_error(error, name, source) from None
        try:
            yield wheel, module
        except (RuntimeError, UnicodeDecodeError) as error:
            # Invalid Unicode.
            raise UserError(f"{name} cannot be read: {error}") from None


def parse_to_generic_text(source: str, name: str) -> str:
    """Parse a module, and return it in generic form with a location for each op."""
    try:
        with time_span("MLIR"):
            return call_isolated(_generic_text, source, name)
    except WorkerDied as error:
        raise _crash_error(name, error) from None


def _crash_error(name: str, error: WorkerDied) -> LimitationError:
    return LimitationError(
        f"MLIR crashed while reading {name} ({error}); check that it is a complete StableHLO "
        "module of a recent version"
    )


def _generic_text(source: str, name: str) -> str:
    wheel, context = _new_stablehlo_context()
    ir = wheel.ir
    with hold_forks(), context, ir.Location.unknown():
        try:
            module = _parse_module(wheel, source)
        except ir.MLIRError as error:
            raise _parse_error(error, name, source) from None
        return module.operation.get_asm(
            print_generic_op_form=True, enable_debug_info=True, use_local_scope=True
        )


def _new_stablehlo_context() -> tuple[Any, Any]:
    """Return the MLIR wheel and a context for a module."""
    wheel = mlir.stablehlo_wheel()
    context = mlir.new_context()
    # Attributes of other dialects are harmless, and their ops are reported by name.
    context.allow_unregistered_dialects = True
    wheel.stablehlo.register_dialect(context)
    return wheel, context


def _parse_module(wheel: Any, source: str) -> Any:
    # CHLO is not registered, but a pass that depends on it loads it.
    run_pipeline(wheel, wheel.ir.Module.parse("module {}"), "stablehlo-compatibility-expander")
    return wheel.ir.Module.parse(source)


def _check_op_names(wheel: Any, module: Any, name: str, source: str) -> None:
    """Report ops without a dialect, on which the inliner crashes."""
    reader, unknown_ops = ModuleReader(wheel, module, name, source), list[Any]()

    def visit(op: Any) -> Any:
        if "." not in op.name:
            unknown_ops.append(op)
        return wheel.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if unknown_ops:
        location = reader.location(unknown_ops[0].location)
        raise UserError(
            f"this is not StableHLO: no dialect has the op {unknown_ops[0].name!r}", location
        )


def _simplify_module(wheel: Any, module: Any, types: Sequence[str] | None) -> None:
    """Inline calls and composites, refine dynamic dimensions, and convert CHLO ops."""
    run_pipeline(wheel, module, "func.func(stablehlo-legalize-composite-to-call),inline,symbol-dce")
    if types is not None:
        passes = (
            f"stablehlo-refine-arguments{{types={','.join(types)}}}",
            "stablehlo-refine-shapes",
            "func.func(stablehlo-canonicalize-dynamism)",
            "symbol-dce",
        )
        run_pipeline(wheel, module, ",".join(passes))
    names: set[str] = set()

    def visit(op: Any) -> Any:
        names.add(op.name)
        return wheel.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if any(each.startswith("chlo.") for each in names):
        _keep_library_chlo(wheel, module.operation)
        run_pipeline(wheel, module, "func.func(chlo-legalize-to-stablehlo)")


def run_pipeline(wheel: Any, module: Any, passes: str) -> None:
    wheel.passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)


def _keep_library_chlo(wheel: Any, operation: Any) -> None:
    ir = wheel.ir
    for region in operation.regions:
        for block in region.blocks:
            for each in list(block.operations):
                op = each.operation
                _keep_library_chlo(wheel, op)
                if op.name in LIBRARY_CHLO and "complex<" not in str(op.operands[0].type):
                    target = {"call_target_name": ir.StringAttr.get(op.name)}
                    with ir.InsertionPoint(op), op.location:
                        call = ir.Operation.create(
                            "stablehlo.custom_call",
                            results=[result.type for result in op.results],
                            operands=list(op.operands),
                            attributes=target,
                        )
                    op.results[0].replace_all_uses_with(call.results[0])
                    op.erase()


def _parse_error(error: Exception, name: str, source: str) -> RiseError:
    match = re.search(r'error: "[^"]*":(\d+):(\d+): (.*)', str(error))
    if match is None:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        described = [line for line in lines if line.startswith("error:")] or lines[:1]
        reason = described[0].removeprefix("error:").strip() if described else "no reason given"
        return UserError(f"{name} is not a StableHLO module: {reason}")
    location = _source_location(name, source.splitlines(), int(match[1]), int(match[2]))
    return UserError(f"this is not StableHLO: {match[3].strip()}", location)


def _source_location(name: str, lines: Sequence[str], line: int, column: int) -> SourceLocation:
    text = lines[line - 1][:400] if 0 < line <= len(lines) else None
    return SourceLocation(name, line, column, text=text)


class ModuleReader:
    """Reads the ops of one module as plain Python values."""

    def __init__(self, wheel: Any, module: Any, name: str, source: str):
        self._wheel = wheel
        self._module = module
        self._name = name
        self._source = source
        self._lines = source.splitlines()
        self._values: dict[Any, GraphValue] = {}
        self._resources: Mapping[str, bytes] | None = None

    def functions(self) -> dict[str, GraphFunction]:
        result: dict[str, GraphFunction] = {}
        for each in self._module.body.operations:
            op = each.operation
            if op.name != "func.func":
                continue
            attributes = op.attributes
            visibility = "sym_visibility" in attributes and attributes["sym_visibility"].value
            if visibility == "private" or not op.regions[0].blocks:
                continue
            function = self._read_function(op)
            result[function.name] = function
        return result

    def _read_function(self, op: Any) -> GraphFunction:
        name = op.attributes["sym_name"].value
        body = self._read_block(op.regions[0], op)
        return GraphFunction(name, body, self._result_names(op), self.location(op.location))

    def _result_names(self, op: Any) -> tuple[str, ...]:
        if "res_attrs" not in op.attributes:
            return ()
        names: list[str] = []
        for each in op.attributes["res_attrs"]:
            has_name = "jax.result_info" in each
            names.append(each["jax.result_info"].value if has_name else "")
        return tuple(names)

    def _read_block(self, region: Any, op: Any) -> GraphBlock:
        if len(region.blocks) != 1:
            raise LimitationError(
                f"{op.name} has {len(region.blocks)} blocks; expected one",
                self.location(op.location),
            )
        block = region.blocks[0]
        arguments = tuple(self._read_argument(each) for each in block.arguments)
        operations = tuple(self._read_op(each.operation) for each in block.operations)
        return GraphBlock(arguments, operations)

    def _read_argument(self, value: Any) -> GraphValue:
        argument = GraphValue(self._read_type(value.type), self._location_name(value.location))
        self._values[value] = argument
        return argument

    def _location_name(self, location: Any) -> str:
        """Return the name in a location, from its text, since the wheel's accessors may crash."""
        text = str(location).removeprefix("loc(")
        while text.startswith("callsite("):
            text = text.removeprefix("callsite(")
        match = _NAME.match(text)
        return match[1] if match else ""

    def _read_op(self, op: Any) -> GraphOp:
        operands = tuple(self._values[operand] for operand in op.operands)
        attributes: dict[str, Any] = {}
        for name in op.attributes:
            try:
                attributes[name] = self._read_attribute(op.attributes[name])
            except TypeError:
                # The wheel has no class for complex constants.
                value = _read_complex_constant(op)
                attributes[name] = OpaqueAttribute(name) if value is None else value
        regions = tuple(self._read_block(region, op) for region in op.regions)
        results: list[GraphValue] = []
        for result in op.results:
            self._values[result] = graph_value = GraphValue(self._read_type(result.type))
            results.append(graph_value)
        location = self.location(op.location) or self._unique_location(op.name)
        label = self._location_name(op.location)
        return GraphOp(op.name, operands, tuple(results), attributes, regions, location, label)

    def _unique_location(self, op: str) -> SourceLocation | None:
        """Return the location of an op in the text, if its name occurs once."""
        if self._source.count(op) != 1:
            return None
        preceding_text = self._source[: self._source.index(op)]
        line = preceding_text.count("\n") + 1
        return _source_location(
            self._name, self._lines, line, len(preceding_text) - preceding_text.rfind("\n")
        )

    def _read_type(self, type: Any) -> TensorKind | str:
        if not isinstance(type, self._wheel.ir.RankedTensorType):
            return str(type)
        shape = tuple(
            None if type.is_dynamic_dim(position) else type.get_dim_size(position)
            for position in range(type.rank)
        )
        return TensorKind(shape, str(type.element_type))

    def location(self, location: Any) -> SourceLocation | None:
        """Return the first file location in a location; for a call site, that of the callee."""
        match = _FILE.search(str(location))
        if match is None:
            return None
        file, line, column = match[1], int(match[2]), int(match[3])
        if file == "-":
            return _source_location(self._name, self._lines, line, column)
        return SourceLocation(file, line, max(1, column))

    def _read_attribute(self, attribute: Any) -> Any:
        ir = self._wheel.ir
        if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
            return attribute.value
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            return attribute.value
        if isinstance(attribute, ir.UnitAttr):
            return True
        if isinstance(attribute, ir.TypeAttr):
            return str(attribute.value)
        if isinstance(attribute, ir.DenseElementsAttr):
            return _read_dense(attribute, ir)
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(self._read_attribute(each) for each in attribute)
        if isinstance(attribute, ir.DictAttr):
            return {each.name: self._read_attribute(each.attr) for each in attribute}
        if isinstance(attribute, ir.DenseI64ArrayAttr | ir.DenseBoolArrayAttr):
            return tuple(attribute)
        text = str(attribute)
        if text.startswith("dense_resource<"):
            return self._read_resource(attribute, text)
        return self._read_dialect_attribute(attribute, text)

    def _read_dialect_attribute(self, attribute: Any, text: str) -> Any:
        for kind in self._wheel.records:
            if kind.isinstance(attribute):
                typed = kind(attribute)
                names = (each for each, value in vars(kind).items() if isinstance(value, property))
                return {each: _as_tuple(getattr(typed, each)) for each in names}
        for kind in self._wheel.enumerations:
            if kind.isinstance(attribute):
                return kind(attribute).value
        return OpaqueAttribute(text)

    def _read_resource(self, attribute: Any, text: str) -> Any:
        """Read a constant whose elements are in the resource section of the file."""
        match = _RESOURCE_NAME.match(text)
        assert match is not None
        name = match[1] or match[2]
        if self._resources is None:
            self._resources = _read_resources(str(self._module))
        if name not in self._resources:
            raise UserError(f"{self._name}: the constant {name} is named but not in the file")
        type = self._read_type(attribute.type)
        assert isinstance(type, TensorKind)
        return array_from_bytes(self._resources[name], type)


def _read_resources(text: str) -> dict[str, bytes]:
    """Read the blobs of `{-# dialect_resources`: an alignment, then the elements."""
    start = text.rfind("{-#")
    resources: dict[str, bytes] = {}
    if start >= 0:
        for match in _RESOURCE.finditer(text, start):
            resources[match[1] or match[2]] = bytes.fromhex(match[3])[4:]
    return resources


def array_from_bytes(data: bytes, type: TensorKind) -> np.ndarray[Any, Any]:
    shape = [length or 0 for length in type.shape]
    return np.frombuffer(data, dtype_of(type.element)).reshape(shape)


def _read_dense(attribute: Any, ir: Any) -> Any:
    type = attribute.type
    element = str(type.element_type)
    shape = [type.get_dim_size(position) for position in range(type.rank)]
    try:
        dtype = dtype_of(element)
    except LimitationError:
        dtype = None
    if dtype is None or dtype.kind == "c":
        return OpaqueAttribute(f"dense<...> : {type}")
    if attribute.is_splat:
        return np.broadcast_to(
            np.asarray(_attribute_value(attribute.get_splat_value()), dtype), shape
        )
    if element in SMALL_FLOATS:
        return _parse_small_floats(str(attribute), dtype).reshape(shape)
    return np.array(attribute, dtype).reshape(shape)


def _parse_small_floats(text: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Parse the elements of `dense<...>`, for which the wheel has no accessor."""
    body = text[text.index("<") + 1 : text.rindex(">", 0, text.rindex(":"))]
    if body.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(body[3:-1]), dtype)
    words = re.findall(r"0x[0-9A-Fa-f]+|[-+.\w]+", body)
    bits = np.dtype(f"u{dtype.itemsize}")
    return np.array(
        [
            np.array(int(word, 16), bits).view(dtype) if word.startswith("0x") else float(word)
            for word in words
        ],
        dtype,
    )


def _read_complex_constant(op: Any) -> np.ndarray[Any, Any] | None:
    """Read the value of a complex constant from the text of its op; None if it is not one."""
    if op.name != "stablehlo.constant":
        return None
    type = op.results[0].type
    shape = [type.get_dim_size(position) for position in range(type.rank)]
    numbers = _parse_complex(str(op), dtype_of(str(type.element_type)))
    return np.broadcast_to(numbers[0], shape) if len(numbers) == 1 else numbers.reshape(shape)


def _parse_complex(text: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Parse the elements of `dense<...>`, for which the wheel has no accessor."""
    body = text[text.index("<") + 1 : text.rindex(">", 0, text.rindex(":"))]
    if body.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(body[3:-1]), dtype)
    size = dtype.itemsize // 2
    words = re.findall(r"0x[0-9A-Fa-f]+|[-+.\w]+", body)
    parts = [
        np.frombuffer(int(word, 16).to_bytes(size, "little"), f"<f{size}")[0]
        if word.startswith("0x")
        else float(word)
        for word in words
    ]
    return np.array(parts, f"f{size}").view(dtype)


def _attribute_value(attribute: Any) -> Any:
    return attribute.value


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
