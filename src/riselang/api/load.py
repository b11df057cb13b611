"""`rl.load`: make the programs of a file callable with NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from riselang.api.float_checks import enable_checks
from riselang.api.kernel import TermKernel
from riselang.api.lowered import resolve_strategy
from riselang.compiler.caching import text_key
from riselang.native.workers.worker_pool import MIN_FUNCTIONS_FOR_WORKERS, start_workers
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.runtime.code_cache import find_cached, find_or_compile
from riselang.runtime.executable import Executable
from riselang.support import config
from riselang.support.config import DEFAULT_LOOPS, Options, default_options
from riselang.support.errors import MissingSymbolsError, UserError
from riselang.support.forking import hold_forks
from riselang.support.html import code, details
from riselang.support.io import decode_text
from riselang.support.lazy import cached_property
from riselang.support.progress import progress
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from riselang.compiler.compilation import Compilation
    from riselang.notation.program import Program

BACKENDS = ("compile", "interpret")
SHARED = (".so", ".dylib", ".dll")
"""The file name extensions of shared libraries."""
DEFAULT_MLIR_LOOPS = "scf"
"""The loops that patterns of an MLIR file become unless they specify it."""


class LoadedModule:
    """An MLIR module; its functions are attributes, and take buffers in parameter order."""

    def __init__(self, text: str, name: str, options: Options):
        self._text = text
        self._name = name
        self._options = options
        self._key = text_key(text, name, options)
        self._cached = find_cached(self._key, name, {})
        if self._cached is None:
            # A module in the cache needs no verification.
            if text.count("func.func") >= MIN_FUNCTIONS_FOR_WORKERS:
                start_workers(config.jobs() - 1)
            assert self._compilation

    @cached_property
    @hold_forks()
    def _compilation(self) -> Compilation:
        from riselang.compiler.compilation import Compilation

        with progress(f"reading {self._name}"):
            return Compilation(*read_module(self._text, self._name, None, self._options))

    @cached_property
    @hold_forks()
    def _functions(self) -> dict[str, Executable]:
        artifact = self._cached or find_or_compile(
            self._key, self._name, lambda: self._compilation.artifact, {}
        )
        try:
            return artifact.load_executables(lambda name: self._compilation.source.terms(name))
        except MissingSymbolsError as error:
            raise error.with_location(
                self._compilation.source.declaration_location(error.names[0])
            ) from None

    def as_text(self, stage: str = "rise") -> str:
        """Return the module at a stage: notation, rise, imperative, affine, llvm or asm."""
        return self._compilation.text(stage)

    def __getattr__(self, name: str) -> Executable:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._functions:
            raise AttributeError(_missing_message(self._name, "function", name, self._functions))
        return self._functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __repr__(self) -> str:
        return f"<module {self._name}>"

    def _repr_html_(self) -> str:
        return code(self.as_text("notation")) + details("MLIR", code(self._text))


class LoadedLibrary:
    """A shared library; its functions are attributes, and take buffers in parameter order."""

    def __init__(self, path: str):
        from riselang.runtime.shared_library import load_shared

        self._path = path
        self._functions = load_shared(path, _function_terms)

    def __getattr__(self, name: str) -> Executable:
        if name.startswith("_") or name not in self._functions:
            raise AttributeError(_missing_message(self._path, "function", name, self._functions))
        return self._functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __repr__(self) -> str:
        return f"<library {self._path}>"


def _function_terms(text: str, name: str) -> list[Term]:
    """Return the programs in a function of a module; they restrict the sizes."""
    from riselang.compiler.program_sources import ModuleSource
    from riselang.dialects.module import parse_module

    return ModuleSource(parse_module(text)).terms(name)


class LoadedProgram:
    """The definitions of a `.rise` file; each is an attribute, and is called like an `rl.jit` one.

    Calling the program itself calls `main`, or its only definition.
    """

    def __init__(self, program: Program, kernels: Mapping[str, TermKernel], name: str):
        self._program = program
        self._kernels = kernels
        self._name = name

    def __call__(self, *arguments: Any) -> Any:
        return self._main_kernel()(*arguments)

    def as_text(self, stage: str = "notation") -> str:
        """Return the file at a stage; stages after notation show `main` or the only definition."""
        if stage != "notation":
            return self._main_kernel().lower().as_text(stage)
        texts = [f"def {name} = {kernel.term}" for name, kernel in self._kernels.items()]
        return "\n\n".join(texts) + "\n"

    def _main_kernel(self) -> TermKernel:
        if "main" in self._kernels:
            return self._kernels["main"]
        if len(self._kernels) == 1:
            return next(iter(self._kernels.values()))
        if not self._kernels:
            raise next(iter(self._program.helpers.values()))
        names = ", ".join(self._kernels)
        raise UserError(f"{self._name} has several definitions; call one of them by name: {names}")

    def __getattr__(self, name: str) -> TermKernel:
        if "_kernels" not in vars(self):  # while `copy` constructs an instance
            raise AttributeError(name)
        if name in self._program.helpers:
            raise self._program.helpers[name]
        if name not in self._kernels:
            raise AttributeError(_missing_message(self._name, "definition", name, self._kernels))
        return self._kernels[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def __repr__(self) -> str:
        return f"<program {self._name}: {', '.join(self._kernels)}>"

    def _repr_html_(self) -> str:
        return code(self.as_text())


def main_kernel(program: LoadedProgram) -> TermKernel:
    """Return `main` or the only definition; a method would clash with a definition's name."""
    return program._main_kernel()  # pyright: ignore[reportPrivateUsage]


def _missing_message(file: str, kind: str, name: str, known: Mapping[str, object]) -> str:
    return f"{file} has no {kind} {name}; it has: {', '.join(known) or 'none'}"


def load_data(
    data: bytes, path: str, **choices: Any
) -> LoadedModule | LoadedProgram | LoadedLibrary:
    """Load the programs in the contents of a file that is not a compiled program."""
    if path.endswith(SHARED):
        return LoadedLibrary(path)
    return load_text(decode_text(data, path), path, **choices)


def load_text(
    text: str,
    name: str,
    backend: str = "compile",
    strategy: Strategy | str | None = None,
    **choices: Any,
) -> LoadedModule | LoadedProgram:
    """Load the programs in a text: notation if its name ends in `.rise`, else MLIR."""
    if backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, but is {backend!r}")
    if name.endswith(".rise"):
        from riselang.notation.program import parse_program

        options = default_options(DEFAULT_LOOPS).with_changes(**choices)
        program = parse_program(text, name)
        kernels = program_kernels(program, options, backend, resolve_strategy(strategy, DEFAULT))
        return LoadedProgram(program, kernels, name)
    if backend != "compile":
        raise UserError(
            f"{name} is an MLIR file, which can only be compiled; backend='interpret' "
            "accepts .rise files"
        )
    options = default_options(DEFAULT_MLIR_LOOPS).with_changes(**choices)
    resolved_strategy = resolve_strategy(strategy)
    if resolved_strategy is not None:
        text, options = rewrite_text(text, name, resolved_strategy, options)
    return LoadedModule(text, name, options)


def rewrite_text(text: str, name: str, strategy: Strategy, options: Options) -> tuple[str, Options]:
    """Rewrite the programs of an MLIR module; return its text and the remaining options."""
    from riselang.dialects.module import module_text

    module, options = read_module(text, name, strategy, options)
    return module_text(module), options


def read_module(
    text: str, name: str, strategy: Strategy | None, options: Options
) -> tuple[ModuleOp, Options]:
    """Parse and verify a module, and rewrite it if there is a strategy; also return its options."""
    from riselang.dialects.module import parse_module, verify_module

    module = parse_module(text, name)
    verify_module(module)
    if strategy is None:
        return module, options
    from riselang.lowering.passes.rise_rewrite import rewrite_module

    rewrite_module(module, strategy, options.float)
    return module, replace(options, contracted=True)


@hold_forks()
def term_kernel(
    name: str, term: Term, *, strategy: Strategy | str | None = None, **choices: Any
) -> TermKernel:
    """Make a kernel of a closed term, with the default options of notation."""
    options = default_options(DEFAULT_LOOPS).with_changes(**choices)
    return TermKernel(name, term, "compile", options, strategy=resolve_strategy(strategy, DEFAULT))


def program_kernels(
    program: Program, options: Options, backend: str, strategy: Strategy | None = None
) -> dict[str, TermKernel]:
    """Make a kernel of each definition whose types are known."""
    enable_checks()
    return {
        definition.name: TermKernel(
            definition.name,
            definition.term,
            backend,
            options,
            definition.size_refinements,
            strategy,
            definition.interface,
        )
        for definition in program
    }
