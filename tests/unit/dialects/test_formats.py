"""Formats that are read late say what they would have said at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.dialects.arith import AddiOp, ConstantOp
from xdsl.irdl import IRDLOperation

from riselang.dialects.rise.dialect import Rise
from riselang.dialects.xdsl_patches import LazyFormat

OURS = [op for op in Rise.operations if issubclass(op, IRDLOperation)]
FORMATTED = [op for op in OURS if op.get_irdl_definition().assembly_format]


@pytest.mark.parametrize("op", FORMATTED, ids=lambda op: op.name)
def test_every_format_of_ours_can_be_read(op: type[IRDLOperation]) -> None:
    """A mistake in one would be found by nobody who does not print such an op."""
    definition = op.get_irdl_definition()
    assert definition.assembly_format is not None
    assert LazyFormat(definition.assembly_format, definition).program.stmts


def test_ops_print_in_their_format() -> None:
    one = ConstantOp.from_int_and_width(1, 32)
    assert str(AddiOp(one, one)).endswith("arith.addi %1, %1 : i32")


@pytest.mark.rotating(3)
def test_compiling_reads_no_format() -> None:
    script = (
        "import riselang as rl, sys\n"
        "@rl.jit\n"
        "def twice(x: rl.Array[4, rl.f32]):\n"
        "    return x | rl.map(lambda a: a * 2.0)\n"
        "twice.trace().lower().compile()\n"
        "assert 'xdsl.dialects.arith' in sys.modules\n"
        "assert 'xdsl.irdl.declarative_assembly_format_parser' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={"RISE_CACHE": "0"})
