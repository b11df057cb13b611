"""The source of a model, and the metadata that is needed before it is called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, TensorType
from riselang.frontends.stablehlo.model.argument_names import argument_names
from riselang.frontends.stablehlo.model.model_file import ModelFile, content_digest
from riselang.frontends.stablehlo.model.stored_arrays import dtype_name
from riselang.support.config import DEFAULT_LOOPS, FLOAT, Options, default_options
from riselang.support.errors import UserError
from riselang.support.io import decode_text
from riselang.support.profiling import time_span
from riselang.support.progress import progress
from riselang.support.structures import Interface

if TYPE_CHECKING:
    from riselang.frontends.stablehlo.lowering import Program
    from riselang.native.mlir.stablehlo_graph import GraphFunction
    from riselang.rewrite.core import Strategy

FALLBACKS = ("linalg",)
READERS = {"onnx": "riselang.frontends.onnx.model"}
"""The modules that read other models than StableHLO's."""
PERMISSION = "relaxed"
"""StableHLO does not specify the order of reductions."""
DEFAULT_STRATEGY = "default"
"""The name of the default strategy, which is imported when a program is compiled."""


@dataclass(frozen=True)
class ModelOrigin:
    """A function of a module."""

    source: str | bytes | ModelFile
    """Text or bytecode, or the file that has it."""
    file: str
    """The name of the source in errors."""
    function: str | None = None
    """The function to read; None is `main`, or the only one."""
    types: tuple[str, ...] | None = None
    """The types of its arguments, if the module has dynamic dimensions."""
    fallback: str | None = None
    """What compiles the ops that do not become patterns: "linalg", or None."""
    reader: str | None = None
    """What reads contents other than StableHLO: one of `READERS`."""
    float: str = "strict"
    """The float permission, where the conversion to patterns depends on it."""

    @property
    def content(self) -> str | bytes:
        return self.source.read() if isinstance(self.source, ModelFile) else self.source

    @property
    def digest(self) -> str:
        """The hash of the content."""
        if isinstance(self.source, ModelFile):
            return self.source.digest
        source = self.source
        return content_digest(source if isinstance(source, bytes) else source.encode())

    def read_graph(self) -> GraphFunction:
        if self.reader is not None:
            return import_module(READERS[self.reader]).read_graph(self)
        from riselang.native.mlir.stablehlo import read_functions

        with progress(f"reading {self.file}"), time_span("read"):
            functions = read_functions(self.content, self.file, self.types)
        return _select_function(functions, self.function, self.file)

    def lower_program(self) -> Program:
        return lower_graph(self.read_graph())


def lower_graph(graph: GraphFunction) -> Program:
    # Imported only where needed: a cached program does without it.
    from riselang.frontends.stablehlo.lowering import lower_function

    with progress(f"reading {graph.name}"), time_span("to patterns"):
        return lower_function(graph, argument_names([each.name for each in graph.body.arguments]))


@dataclass(frozen=True, eq=False)
class Signature:
    """The metadata of a program that a call needs."""

    name: str
    argument_names: tuple[str, ...]
    arguments: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    constants: tuple[TensorType, ...]

    @staticmethod
    def of(program: Program) -> Signature:
        constants = [
            TensorType(each.shape, ELEMENT_TYPES[dtype_name(each)]) for each in program.constants
        ]
        return Signature(
            program.name, program.argument_names, program.arguments, program.results,
            tuple(constants),
        )  # fmt: skip

    @property
    def interface(self) -> Interface:
        """How the program is called: complex tensors are arrays of floats in it."""
        inputs = [each.element.is_complex for each in (*self.arguments, *self.constants)]
        results = [each.element.is_complex for each in self.results]
        return Interface(
            complex_inputs=tuple(inputs) if any(inputs) else (),
            complex_results=tuple(results) if any(results) else (),
        )


def model_options(**choices: Any) -> Options:
    """Return the given options; the float permission defaults to what StableHLO permits."""
    if choices.get("float") is None and not os.environ.get(FLOAT.variable):
        choices["float"] = PERMISSION
    return default_options(DEFAULT_LOOPS).with_changes(**choices)


def model_strategy(choice: Strategy | str | None) -> Strategy | str | None:
    """Return the strategy of a model, or the name of the default one."""
    if choice is None:
        return DEFAULT_STRATEGY
    from riselang.api.lowered import resolve_strategy

    return resolve_strategy(choice)


def read_source(source: str | bytes | Path) -> tuple[str | bytes, str]:
    """Return the text or bytecode of a module, and its name in errors."""
    if isinstance(source, bytes):
        return _decode_source(source, "<bytes>"), "<bytes>"
    if isinstance(source, str) and ("\n" in source or "func.func" in source):
        return source, "<text>"
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        # A one-line text with a null character is not a path.
        raise UserError(f"{str(path)!r} is not a path: {error}") from None
    return _decode_source(data, str(path)), str(path)


def _decode_source(data: bytes, name: str) -> str | bytes:
    from riselang.native.mlir.bytecode import BYTECODE

    return data if data.startswith(BYTECODE) else decode_text(data, name)


def _select_function(
    functions: dict[str, GraphFunction], wanted: str | None, name: str
) -> GraphFunction:
    """Return the requested function: `main`, or the only one."""
    known = ", ".join(functions) or "none"
    if wanted is None and "main" in functions:
        wanted = "main"
    if wanted is None and len(functions) > 1:
        raise UserError(f"{name} has several functions; choose one of {known}")
    if wanted is None and functions:
        return next(iter(functions.values()))
    if wanted not in functions:
        asked = f" {wanted}" if wanted else ""
        raise UserError(f"{name} has no public function{asked}; it has: {known}")
    return functions[wanted]


def format_mlir_types(elements: Sequence[str], shapes: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """Return tensor types in MLIR syntax."""
    return tuple(
        f"tensor<{'x'.join([*map(str, shape), element])}>"
        for element, shape in zip(elements, shapes, strict=True)
    )
