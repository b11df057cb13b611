"""Compiles parts of StableHLO modules with MLIR alone, to functions on buffers.

Inputs and outputs are buffers of floats and signless integers: a complex array is passed as two
arrays, its real and its imaginary part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ctypes import CDLL
from dataclasses import dataclass
from typing import Any

from riselang.native.compile_job import Job
from riselang.native.mlir.bytecode import bytecode_to_text
from riselang.native.mlir.stablehlo import ModuleReader, open_module, run_pipeline
from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated
from riselang.pipelines import STABLEHLO_TO_LINALG
from riselang.support.errors import RiseError, SourceLocation

ValueRef = tuple[int | None, int]
"""The position of an op and the number of its result; None is a function argument."""
UNIT_NAME = "unit"
"""The name of the function for a part."""
_FOREIGN = ("stablehlo.", "chlo.")
_COMPLEX = re.compile(r"complex<(.*)>")
_UNSIGNED = re.compile(r"ui(\d+)")


@dataclass(frozen=True)
class Part:
    """Ops of a function, by their positions in its body, and their input and output values."""

    positions: tuple[int, ...]
    inputs: tuple[ValueRef, ...]
    outputs: tuple[ValueRef, ...]


class NotLegalized(Exception):
    """The pass does not convert an op."""

    def __init__(self, op: str, location: SourceLocation | None):
        super().__init__(op, location)
        self.op = op
        self.location = location


class LegalizationFailed(Exception):
    """MLIR fails to convert an op, or crashes."""


def legalize_to_linalg(
    source: str | bytes,
    name: str,
    types: Sequence[str] | None,
    function: str,
    parts: Sequence[Part],
) -> list[str]:
    """Convert each part of a function to a module with one function on buffers, results first.

    Raise `NotTaken` for an op that `stablehlo-legalize-to-linalg` does not convert, and `Failed`
    if the pass fails or crashes.
    """
    text = source if isinstance(source, str) else bytecode_to_text(source, name)
    try:
        return call_isolated(_legalize_parts, text, name, types, function, parts)
    except WorkerDied as error:
        raise LegalizationFailed(f"stablehlo-legalize-to-linalg crashes on it ({error})") from None
    except RiseError as error:
        raise LegalizationFailed(error.message) from None


def compile_unit(job: Job) -> bytes:
    """Compile a part to machine code; raise `Failed` if MLIR fails or crashes."""
    try:
        return call_isolated(_object_code, job)
    except WorkerDied as error:
        raise LegalizationFailed(f"MLIR crashes on its loops ({error})") from None


def _object_code(job: Job) -> bytes:
    try:
        missing = [
            name for name in _EXTERNAL_DECLARATION.findall(job.llvm_ir) if not _is_defined(name)
        ]
        if missing:
            raise LegalizationFailed(f"they call {missing[0]}, which is not defined")
        return job.object_code()
    except (LegalizationFailed, RiseError, RuntimeError) as error:  # a RuntimeError comes from LLVM
        message = _first_error_line(str(error))
        raise LegalizationFailed(f"MLIR cannot compile its loops: {message}") from None


_EXTERNAL_DECLARATION = re.compile(r"^declare .*@(?!llvm\.)([\w.$]+)\(", re.MULTILINE)
"""External functions in LLVM IR; calling an undefined one would crash the process."""


def _is_defined(name: str) -> bool:
    return hasattr(CDLL(None), name)


def _first_error_line(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[0] if lines else "no reason")


def _legalize_parts(
    source: str,
    name: str,
    types: Sequence[str] | None,
    function: str,
    parts: Sequence[Part],
) -> list[str]:
    """Convert parts as `linalg_texts` does, in this process."""
    with open_module(source, name, types) as (wheel, module):
        found = next(
            each.operation
            for each in module.body.operations
            if each.operation.name == "func.func"
            and each.operation.attributes["sym_name"].value == function
        )
        # Load the dialects of ops that are created by name.
        for dialect in ("func", "bufferization"):
            _ = wheel.ir.Context.current.dialects[dialect]
        reader = ModuleReader(wheel, module, name, source)
        return [_legalize(wheel, _Unit(wheel, found, part).module, reader) for part in parts]


def _legalize(wheel: Any, module: Any, reader: ModuleReader) -> str:
    try:
        for passes in STABLEHLO_TO_LINALG:
            run_pipeline(wheel, module, passes)
    except wheel.ir.MLIRError as error:
        message = _first_error_line(str(error))
        raise LegalizationFailed(f"stablehlo-legalize-to-linalg fails: {message}") from None
    _check_ops(
        wheel,
        module,
        reader,
        lambda op: op.name.startswith(_FOREIGN) and not op.name.endswith(".return"),
    )
    return str(module)


def _check_ops(
    wheel: Any, module: Any, reader: ModuleReader, is_bad: Callable[[Any], bool]
) -> None:
    bad: list[Any] = []

    def visit(op: Any) -> Any:
        if is_bad(op):
            bad.append(op)
        return wheel.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if bad:
        raise NotLegalized(_op_label(bad[0]), reader.location(bad[0].location))


def _op_label(op: Any) -> str:
    """Return the name of an op, with the target of a custom call."""
    target = "call_target_name"
    return f"{op.name} @{op.attributes[target].value}" if target in op.attributes else op.name


class _Unit:
    """A module with one function, to which some ops of another one are copied."""

    def __init__(self, wheel: Any, function: Any, part: Part):
        ir = wheel.ir
        self._ir = ir
        self._block = function.regions[0].blocks[0]
        self._operations = [each.operation for each in self._block.operations]
        self._values: dict[Any, Any] = {}
        inputs = [self._value_at(value_ref) for value_ref in part.inputs]
        outputs = [self._value_at(value_ref) for value_ref in part.outputs]
        kinds = [_TensorConversion(ir, each.type) for each in (*outputs, *inputs)]
        buffers = [buffer for kind in kinds for buffer in kind.buffers]
        self.module = ir.Module.create()
        with ir.InsertionPoint(self.module.body):
            func_op = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(UNIT_NAME),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(buffers, [])),
                },
                regions=1,
            )
        body = func_op.regions[0].blocks.append(*buffers)
        arguments = iter(list(body.arguments))
        targets = [[next(arguments) for _ in kind.buffers] for kind in kinds[: len(outputs)]]
        with ir.InsertionPoint(body):
            for value, kind in zip(inputs, kinds[len(outputs) :], strict=True):
                self._values[value] = kind.read([next(arguments) for _ in kind.buffers])
            for position in part.positions:
                self._copy(self._operations[position])
            for value, kind, target in zip(outputs, kinds, targets, strict=False):
                kind.write(self._values[value], target)
            ir.Operation.create("func.return")

    def _value_at(self, value_ref: ValueRef) -> Any:
        position, number = value_ref
        if position is None:
            return self._block.arguments[number]
        return self._operations[position].results[number]

    def _copy(self, op: Any) -> None:
        copy = op.clone()
        self._redirect(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self._values[old] = new

    def _redirect(self, op: Any) -> None:
        """Replace operands from the old function by the corresponding values of the new one."""
        for position, operand in enumerate(op.operands):
            if operand in self._values:
                op.operands[position] = self._values[operand]
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    self._redirect(inner.operation)


class _TensorConversion:
    """The conversion between a tensor and buffers."""

    def __init__(self, ir: Any, type: Any):
        self._ir = ir
        self._type = type
        element = str(type.element_type)
        parts = _COMPLEX.fullmatch(element)
        unsigned = _UNSIGNED.fullmatch(element)
        self._is_complex = parts is not None
        self._is_unsigned = unsigned is not None
        plain = parts[1] if parts else f"i{unsigned[1]}" if unsigned else element
        shape = [type.get_dim_size(each) for each in range(type.rank)]
        text = "x".join([*map(str, shape), plain])
        self._plain = ir.Type.parse(f"tensor<{text}>")
        self.buffers = [ir.Type.parse(f"memref<{text}>")] * (2 if parts else 1)

    def read(self, buffers: Sequence[Any]) -> Any:
        values = [
            self._to_tensor("bufferization.to_tensor", [each], "restrict") for each in buffers
        ]
        if self._is_complex:
            return self._cast("stablehlo.complex", values, self._type)
        if self._is_unsigned:
            return self._cast("builtin.unrealized_conversion_cast", values, self._type)
        return values[0]

    def write(self, value: Any, buffers: Sequence[Any]) -> None:
        values = [value]
        if self._is_complex:
            names = ("stablehlo.real", "stablehlo.imag")
            values = [self._cast(name, [value], self._plain) for name in names]
        elif self._is_unsigned:
            values = [self._cast("builtin.unrealized_conversion_cast", [value], self._plain)]
        for each, buffer in zip(values, buffers, strict=True):
            attributes = {name: self._ir.UnitAttr.get() for name in ("restrict", "writable")}
            self._ir.Operation.create(
                "bufferization.materialize_in_destination",
                operands=[each, buffer],
                attributes=attributes,
            )

    def _to_tensor(self, name: str, operands: Sequence[Any], flag: str) -> Any:
        attributes = {flag: self._ir.UnitAttr.get()}
        op = self._ir.Operation.create(name, [self._plain], operands, attributes)
        return op.results[0]

    def _cast(self, name: str, operands: Sequence[Any], type: Any) -> Any:
        return self._ir.Operation.create(name, [type], operands).results[0]
