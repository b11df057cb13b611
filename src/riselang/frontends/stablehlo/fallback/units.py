"""Parts of a model that are compiled separately: patterns, or loops that MLIR generates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from riselang import pipelines
from riselang.dialects.rise.types import SCALAR_NAMES
from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.model.program_kernel import ProgramKernel
from riselang.native.compile_job import Job
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.native.mlir.linalg import UNIT_NAME, LegalizationFailed, compile_unit
from riselang.runtime.artifact import Artifact, CompiledFunction
from riselang.runtime.code_cache import find_or_compile
from riselang.runtime.environment import fingerprint
from riselang.runtime.executable import Executable, Parameter, entry_point_ir
from riselang.support.element_types import dtype_named
from riselang.support.errors import LimitationError
from riselang.support.forking import hold_forks
from riselang.support.lazy import cached_property

Arrays = list[np.ndarray[Any, Any]]


class Unit(Protocol):
    """A part of a model that maps arrays to arrays."""

    @property
    def target(self) -> str: ...

    def run(self, arrays: Sequence[Any]) -> Arrays: ...

    def as_text(self, stage: str) -> str: ...


@dataclass(frozen=True)
class PatternUnit:
    """A part that is a RISE program."""

    kernel: ProgramKernel
    target: str = "patterns"

    def run(self, arrays: Sequence[Any]) -> Arrays:
        result = self._call([*arrays, *self.kernel.program.constants])
        return list(result) if isinstance(result, tuple) else [result]

    @cached_property
    def _call(self) -> Callable[[Sequence[Any]], Any]:
        if self.kernel.backend == "interpret":
            return lambda arrays: self.kernel(*arrays)
        return self.kernel.lower().compile().prepare_call()

    def as_text(self, stage: str) -> str:
        if stage == "notation":
            return repr(self.kernel.program.term)
        return self.kernel.lower().as_text(stage)


@dataclass(frozen=True)
class LinalgUnit:
    """A part that MLIR lowers to loops, a function on buffers."""

    text: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    make_error: Callable[[str], LimitationError]
    """Makes the error to raise if MLIR cannot generate machine code."""
    target: str = "linalg"

    def run(self, arrays: Sequence[Any]) -> Arrays:
        given = [
            part for array, type in zip(arrays, self.inputs, strict=True)
            for part in _split_complex(array, type)
        ]  # fmt: skip
        made = [[_new_buffer(type) for _ in range(_buffer_count(type))] for type in self.outputs]
        self._function(*(part for parts in made for part in parts), *given)
        return [_merge_complex(parts, type) for parts, type in zip(made, self.outputs, strict=True)]

    @cached_property
    @hold_forks()
    def _function(self) -> Executable:
        key = fingerprint("linalg", self.text, self._pipeline)
        artifact = find_or_compile(key, UNIT_NAME, self._load_artifact, {UNIT_NAME: None})
        return artifact.load_executables(lambda _: [])[UNIT_NAME]

    def _load_artifact(self) -> Artifact:
        parameters = tuple(self._parameters())
        entries = entry_point_ir(UNIT_NAME, parameters, fails=False)
        code = self._compile_job(Job(self.text, self._pipeline, {}, entries))
        return Artifact((CompiledFunction(UNIT_NAME, parameters),), (code,))

    def _compile_job(self, job: Job) -> bytes:
        try:
            return compile_unit(job)
        except LegalizationFailed as error:
            raise self.make_error(str(error)) from None

    @property
    def _pipeline(self) -> tuple[str, ...]:
        return (*pipelines.LINALG, *pipelines.cpu_pipeline(threads=False))

    def _parameters(self) -> list[Parameter]:
        count = len(self.outputs)
        return [
            Parameter(f"p{position}", _buffer_element(type), type.shape, position < count)
            for position, type in enumerate((*self.outputs, *self.inputs))
            for _ in range(_buffer_count(type))
        ]

    def as_text(self, stage: str) -> str:
        return self.text.rstrip("\n")


def _buffer_count(type: TensorType) -> int:
    return 2 if type.element.is_complex else 1


def _new_buffer(type: TensorType) -> np.ndarray[Any, Any]:
    return np.empty(type.shape, dtype_named(_buffer_element(type)))


def _buffer_element(type: TensorType) -> str:
    """Return the name of the element type of the buffers that hold a tensor."""
    scalar = type.element.scalar
    return SCALAR_NAMES[scalar.part if scalar.is_complex else scalar]


def _split_complex(array: Any, type: TensorType) -> Arrays:
    if type.element.is_complex:
        return [np.array(part, order="C") for part in (array.real, array.imag)]
    return [array]


def _merge_complex(parts: Arrays, type: TensorType) -> np.ndarray[Any, Any]:
    if not type.element.is_complex:
        return parts[0]
    whole = np.empty(type.shape, dtype_of(type.element.name))
    whole.real, whole.imag = parts
    return whole
