"""MLIR bytecode as text, in a process of its own: damaged bytecode may take it down.

It is run as a file. The MLIR wheel is all that it needs, so it does not import the package as a
whole.
"""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

BYTECODE = b"ML\xefR"
"""What MLIR bytecode starts with."""
PORTABLE = b"StableHLO_v"
"""What stands near the start of bytecode that StableHLO keeps readable over its versions."""


class BrokenBytecode(Exception):
    """What was to be read cannot be."""


def as_text(data: bytes) -> str:
    """The module that bytecode says."""
    command = [sys.executable, str(Path(__file__))]
    run = subprocess.run(command, input=data, capture_output=True, check=False)
    if run.returncode != 0:
        raise BrokenBytecode(_reason(run.stderr.decode(errors="replace")))
    return run.stdout.decode()


def _reason(errors: str) -> str:
    found = [line.partition("error: ")[2] for line in errors.splitlines() if "error: " in line]
    return found[0] if found else "it is damaged"


def main() -> None:
    package = types.ModuleType("riselang")
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules["riselang"] = package
    from riselang.native.mlir import stablehlo_wheel

    data = sys.stdin.buffer.read()
    wheel = stablehlo_wheel()
    context = wheel.ir.Context()
    context.allow_unregistered_dialects = True
    wheel.stablehlo.register_dialect(context)
    with context, wheel.ir.Location.unknown():
        if PORTABLE in data[:64]:
            module = wheel.stablehlo.deserialize_portable_artifact(context, data)
        else:
            module = wheel.ir.Module.parse(data)
        text = module.operation.get_asm(binary=True, enable_debug_info=True)
    sys.stdout.buffer.write(text.decode().encode())


if __name__ == "__main__":
    main()
