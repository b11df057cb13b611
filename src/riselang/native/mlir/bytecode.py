"""Converts MLIR bytecode to text, in a worker, since damaged bytecode may crash the process."""

from __future__ import annotations

from riselang.native.mlir.bindings import stablehlo_wheel
from riselang.native.workers.subprocess_worker import Died, call_isolated
from riselang.support.errors import UserError

BYTECODE = b"ML\xefR"
"""The magic number of MLIR bytecode."""
PORTABLE = b"StableHLO_v"
"""Marks a StableHLO portable artifact, near its start."""


def as_text(data: bytes, name: str) -> str:
    """Return the text of a module in bytecode; errors refer to it by `name`."""
    try:
        return call_isolated(_text, data, name)
    except Died:
        raise _unreadable(name, "it is damaged") from None


def _text(data: bytes, name: str) -> str:
    wheel = stablehlo_wheel()
    context = wheel.ir.Context()
    context.allow_unregistered_dialects = True
    wheel.stablehlo.register_dialect(context)
    try:
        with context, wheel.ir.Location.unknown():
            if PORTABLE in data[:64]:
                module = wheel.stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = wheel.ir.Module.parse(data)
            return module.operation.get_asm(binary=True, enable_debug_info=True).decode()
    except (wheel.ir.MLIRError, ValueError, RuntimeError) as error:
        # This includes invalid Unicode.
        found = [line.partition("error: ")[2] for line in str(error).splitlines()]
        raise _unreadable(name, next(filter(None, found), "it is damaged")) from None


def _unreadable(name: str, reason: str) -> UserError:
    return UserError(f"the bytecode of {name} cannot be read: {reason}")
