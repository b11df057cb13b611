"""Converts MLIR bytecode to text, in a worker, since damaged bytecode may crash the process."""

from __future__ import annotations

from riselang.native.mlir.bindings import stablehlo_wheel
from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated
from riselang.support.errors import UserError

BYTECODE = b"ML\xefR"
"""The magic number of MLIR bytecode."""
PORTABLE_ARTIFACT = b"StableHLO_v"
"""Marks a StableHLO portable artifact, near its start."""


def bytecode_to_text(data: bytes, name: str) -> str:
    """Return the text of a module in bytecode; errors refer to it by `name`."""
    try:
        return call_isolated(_parse_to_text, data, name)
    except WorkerDied:
        raise _unreadable_error(name, "it is damaged") from None


def _parse_to_text(data: bytes, name: str) -> str:
    wheel = stablehlo_wheel()
    context = wheel.ir.Context()
    context.allow_unregistered_dialects = True
    wheel.stablehlo.register_dialect(context)
    try:
        with context, wheel.ir.Location.unknown():
            if PORTABLE_ARTIFACT in data[:64]:
                module = wheel.stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = wheel.ir.Module.parse(data)
            return module.operation.get_asm(binary=True, enable_debug_info=True).decode()
    except (wheel.ir.MLIRError, ValueError, RuntimeError) as error:
        # This includes invalid Unicode.
        messages = [line.partition("error: ")[2] for line in str(error).splitlines()]
        raise _unreadable_error(name, next(filter(None, messages), "it is damaged")) from None


def _unreadable_error(name: str, reason: str) -> UserError:
    return UserError(f"the bytecode of {name} cannot be read: {reason}")
