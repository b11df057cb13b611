"""`rl.load`: the programs of a file, called with numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from riselang import config
from riselang.api.compile import Compilation
from riselang.api.kernel import TermKernel
from riselang.dialects.module import decode, parse_module, verify_module
from riselang.errors import UserError
from riselang.notation.program import Program, parse_program
from riselang.runtime.executable import Executable

BACKENDS = ("compile", "interpret")


class LoadedModule:
    """A module; its functions are attributes. Buffers come in the order of the parameters."""

    def __init__(self, compilation: Compilation, name: str):
        self._compilation = compilation
        self._name = name

    def as_text(self, stage: str = "rise") -> str:
        """The module at a stage: notation, rise, imperative, affine, llvm or asm."""
        return self._compilation.text(stage)

    def __getattr__(self, name: str) -> Executable:
        if name.startswith("_"):
            raise AttributeError(name)
        functions = self._compilation.functions
        if name not in functions:
            raise AttributeError(_missing(self._name, "function", name, functions))
        return functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._compilation.functions]

    def __repr__(self) -> str:
        return f"<module {self._name}>"


class LoadedProgram:
    """The definitions of a file in notation; each is an attribute, and called as rl.jit's are.

    The program itself may be called where it is clear which definition is meant: `main`, or the
    only one.
    """

    def __init__(self, program: Program, kernels: Mapping[str, TermKernel], name: str):
        self._program = program
        self._kernels = kernels
        self._name = name

    def __call__(self, *arguments: Any) -> Any:
        return self._chosen()(*arguments)

    def as_text(self, stage: str = "notation") -> str:
        """The file at a stage; after notation, a definition is asked: `.main.lower(N=4)`."""
        if stage != "notation":
            return self._chosen().lower().as_text(stage)
        texts = [f"def {name} = {kernel.term}" for name, kernel in self._kernels.items()]
        return "\n\n".join(texts) + "\n"

    def _chosen(self) -> TermKernel:
        if "main" in self._kernels:
            return self._kernels["main"]
        if len(self._kernels) == 1:
            return next(iter(self._kernels.values()))
        if not self._kernels:
            raise next(iter(self._program.helpers.values()))
        names = ", ".join(self._kernels)
        raise UserError(f"{self._name} has several definitions; call one of them by name: {names}")

    def __getattr__(self, name: str) -> TermKernel:
        if name in self._program.helpers:
            raise self._program.helpers[name]
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(_missing(self._name, "definition", name, self._kernels))
        return self._kernels[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kernels]

    def __repr__(self) -> str:
        return f"<program {self._name}: {', '.join(self._kernels)}>"


def _missing(file: str, kind: str, name: str, known: Mapping[str, object]) -> str:
    return f"{file} has no {kind} {name}; it has: {', '.join(known) or 'none'}"


def load_file(
    path: str | Path, float: str | None, loops: str | None, backend: str, debug_info: bool | None
) -> LoadedModule | LoadedProgram:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    return load_text(decode(data, str(path)), str(path), float, loops, backend, debug_info)


def load_text(
    text: str,
    name: str,
    float: str | None,
    loops: str | None,
    backend: str,
    debug_info: bool | None,
) -> LoadedModule | LoadedProgram:
    """The programs in a text, in notation where its name ends in `.rise`, else in MLIR."""
    permission = config.float_permission(float)
    if backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, but is {backend!r}")
    if name.endswith(".rise"):
        loops = config.loops(loops, TermKernel.loops)
        return _load_notation(text, name, permission, loops, backend, debug_info)
    if backend != "compile":
        raise UserError(f"{name} is MLIR, which is compiled; backend='interpret' takes .rise files")
    return _load_module(text, name, permission, config.loops(loops, "scf"), debug_info)


def _load_module(
    text: str, name: str, permission: str, loops: str, debug_info: bool | None
) -> LoadedModule:
    module = parse_module(text, name)
    verify_module(module)
    return LoadedModule(Compilation(module, loops, permission, debug_info), name)


def _load_notation(
    text: str, name: str, permission: str, loops: str, backend: str, debug_info: bool | None
) -> LoadedProgram:
    program = parse_program(text, name)
    kernels = program_kernels(program, permission, backend)
    for kernel in kernels.values():
        kernel.loops, kernel.debug_info = loops, debug_info
    return LoadedProgram(program, kernels, name)


def program_kernels(program: Program, permission: str, backend: str) -> dict[str, TermKernel]:
    """Each definition that has its types, as something to call."""
    return {
        definition.name: TermKernel(
            definition.name, definition.term, backend, permission, definition.refined
        )
        for definition in program
    }
