"""Read files of the command line: MLIR, notation or Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from riselang.support.errors import UserError
from riselang.support.profiling import time_span
from riselang.tools.file_reading import read_bytes, run_python

if TYPE_CHECKING:
    from riselang.api.kernel import Kernel
    from riselang.compiler.compilation import Compilation
    from riselang.rewrite.core import Strategy
    from riselang.term.nodes import Term


class SourceFile(Protocol):
    """A file that was read and checked."""

    def check(self) -> None:
        """Raise errors that reading the file does not find."""
        ...

    def text(self, stage: str, function: str | None, sizes: Mapping[str, int]) -> str:
        """Return the file at a stage of compilation."""
        ...

    def display_text(self, stage: str, function: str | None, sizes: Mapping[str, int]) -> str:
        """Return the file at a stage for display: loops and accesses have comments."""
        ...

    def compilation(self, function: str | None, sizes: Mapping[str, int]) -> Compilation: ...

    def program(self, function: str | None, sizes: Mapping[str, int]) -> SourceProgram:
        """Return a program of the file at these sizes; the others remain symbolic."""
        ...


@dataclass(frozen=True)
class SourceProgram:
    """A source program."""

    term: Term
    float: str
    """The float permission."""


EXPLAINED_STAGES = ("imperative", "affine")


@dataclass(frozen=True)
class ModuleFile:
    """An MLIR module."""

    file: str
    module: Compilation

    def check(self) -> None:
        return

    def text(self, stage: str, function: str | None, sizes: Mapping[str, int]) -> str:
        return self.module.text(stage)

    def display_text(self, stage: str, function: str | None, sizes: Mapping[str, int]) -> str:
        return self.module.annotated_text(stage)

    def compilation(self, function: str | None, sizes: Mapping[str, int]) -> Compilation:
        return self.module

    def program(self, function: str | None, sizes: Mapping[str, int]) -> SourceProgram:
        from riselang.tools.source_programs import function_program

        term = function_program(self.module.module, self.file, function, sizes)
        return SourceProgram(term, self.module.options.float)


@dataclass(frozen=True)
class KernelFile:
    """Programs in notation or Python, by name."""

    file: str
    kernels: Mapping[str, Kernel]
    helpers: Mapping[str, UserError] = field(default_factory=dict[str, UserError])
    """For each polymorphic definition, the error that explains why it is not a program."""

    def kernel(self, function: str | None) -> Kernel:
        if function is not None and function in self.helpers:
            raise self.helpers[function]
        if function is None and self.helpers and not self.kernels:
            raise next(iter(self.helpers.values()))
        if function is None and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        if not self.kernels:
            hint = "; a program is a function under @rl.jit" if self.file.endswith(".py") else ""
            raise UserError(f"{self.file} contains no programs{hint}")
        if function is None or function not in self.kernels:
            known = ", ".join(self.kernels)
            raise UserError(
                f"{self.file} contains several programs: {known}; select one with --function"
                if function is None
                else f"{self.file} contains no program '{function}'; it contains: {known}"
            )
        return self.kernels[function]

    def text(self, stage: str, function: str | None, sizes: Mapping[str, int]) -> str:
        if stage == "notation" and not sizes and function is None and self.kernels:
            return self._join_notations(lambda kernel: kernel.lower().as_text(stage))
        return self.kernel(function).lower(**sizes).as_text(stage).rstrip("\n") + "\n"

    def display_text(self, stage: str, function: str | None, sizes: Mapping[str, int]) -> str:
        if stage == "notation" and not sizes and function is None and self.kernels:
            return self._join_notations(self._source_notation)
        if stage == "notation" and not sizes:
            return self._source_notation(self.kernel(function)) + "\n"
        if stage not in EXPLAINED_STAGES:
            return self.text(stage, function, sizes)
        return self.compilation(function, sizes).annotated_text(stage)

    def _join_notations(self, format_kernel: Callable[[Kernel], str]) -> str:
        texts = [(name, format_kernel(kernel)) for name, kernel in self.kernels.items()]
        if len(texts) == 1:
            return texts[0][1] + "\n"
        return "\n\n".join(f"def {name} =\n{text}" for name, text in texts) + "\n"

    def check(self) -> None:
        from riselang.api.jit import Jitted

        for kernel in self.kernels.values():
            if isinstance(kernel, Jitted):
                kernel.trace()

    def _source_notation(self, kernel: Kernel) -> str:
        """Return the source program if no strategy rewrites it, else the rewritten one."""
        from riselang.api.kernel import TermKernel

        if kernel.strategy is not None and kernel.lower().derivation is not None:
            return kernel.lower().as_text("notation")
        return repr(kernel.term if isinstance(kernel, TermKernel) else kernel.trace().term)

    def compilation(self, function: str | None, sizes: Mapping[str, int]) -> Compilation:
        return self.kernel(function).lower(**sizes).compilation

    def program(self, function: str | None, sizes: Mapping[str, int]) -> SourceProgram:
        from riselang.tools.source_programs import kernel_program

        kernel = self.kernel(function)
        return SourceProgram(kernel_program(kernel, sizes), kernel.options.float)


def read_source(path: str, choices: Mapping[str, Any], backend: str = "compile") -> SourceFile:
    """Read a file by its extension: `.rise` is notation, `.py` is Python, any other is MLIR.

    `choices` has options by name, and a strategy; None keeps the value of the file or environment.
    """
    options = {name: value for name, value in choices.items() if name != "strategy"}
    with time_span("import the compiler"):
        from riselang.rewrite.default import DEFAULT

    given = choices.get("strategy")
    if path.endswith(".py"):
        return _read_python(path, options, backend, given)
    if path.endswith(".rise"):
        return _read_notation(path, options, backend, _resolve_strategy(given, DEFAULT))
    return _read_module(path, options, _resolve_strategy(given, None))


def _resolve_strategy(text: str | None, fallback: Strategy | None) -> Strategy | None:
    from riselang.api.lowered import STRATEGY_KEYWORDS

    if text is None or text in STRATEGY_KEYWORDS:
        return fallback if text is None else STRATEGY_KEYWORDS[text]
    from riselang.tools.strategies import load_strategy

    return load_strategy(text)


def _read_module(path: str, choices: Mapping[str, Any], strategy: Strategy | None) -> SourceFile:
    with time_span("import the compiler"):
        from riselang.api.load import DEFAULT_MLIR_LOOPS, read_module
        from riselang.compiler.compilation import Compilation
        from riselang.support.config import default_options
        from riselang.support.io import decode_text

    options = default_options(DEFAULT_MLIR_LOOPS).with_changes(**choices)
    name = "<stdin>" if path == "-" else path
    text = decode_text(read_bytes(path), name)
    return ModuleFile(name, Compilation(*read_module(text, name, strategy, options)))


def _read_notation(
    path: str, choices: Mapping[str, Any], backend: str, strategy: Strategy | None
) -> KernelFile:
    with time_span("import the compiler"):
        from riselang.api.load import program_kernels
        from riselang.notation.program import parse_program
        from riselang.support.config import DEFAULT_LOOPS, default_options
        from riselang.support.io import decode_text

    options = default_options(DEFAULT_LOOPS).with_changes(**choices)
    program = parse_program(decode_text(read_bytes(path), path), path)
    kernels = program_kernels(program, options, backend, strategy)
    return KernelFile(path, kernels, program.helpers)


def _read_python(
    path: str, choices: Mapping[str, Any], backend: str, strategy: str | None
) -> KernelFile:
    from riselang.api.jit import Jitted, jit_function

    kernels = {
        name: jit_function(
            value.function,
            replace(
                value.settings,
                backend=backend,
                options=value.options.with_changes(**choices),
                strategy=_resolve_strategy(strategy, value.strategy),
            ),
        )
        for name, value in run_python(path).items()
        if isinstance(value, Jitted)
    }
    return KernelFile(path, kernels)
