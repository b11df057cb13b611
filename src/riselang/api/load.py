"""`rl.load`: the functions of an MLIR text module, called with numpy arrays."""

from __future__ import annotations

from pathlib import Path

from riselang import config
from riselang.api.compile import Compilation
from riselang.dialects.module import decode, parse_module, verify_module
from riselang.dialects.rise.schemes import LOOP_DIALECTS
from riselang.errors import UserError
from riselang.runtime.executable import Executable


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
            known = ", ".join(functions) or "none"
            raise AttributeError(f"{self._name} has no function {name}; it has: {known}")
        return functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._compilation.functions]

    def __repr__(self) -> str:
        return f"<module {self._name}>"


def load_file(path: str | Path, float: str | None, loops: str) -> LoadedModule:
    try:
        text = decode(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    return load_text(text, str(path), float, loops)


def load_text(text: str, name: str, float: str | None, loops: str) -> LoadedModule:
    permission = config.float_permission(float)
    if loops not in LOOP_DIALECTS:
        raise UserError(f"loops must be 'scf' or 'affine', but is {loops!r}")
    module = parse_module(text, name)
    verify_module(module)
    return LoadedModule(Compilation(module, loops, permission), name)
