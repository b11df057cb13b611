"""A process that compiles jobs: one a line comes in, its machine code or nothing goes out.

It is run as a file. MLIR and LLVM are all that it needs, so it does not import the package as a
whole, which would take longer than many a job.
"""

from __future__ import annotations

import select
import struct
import sys
import types
from pathlib import Path

LENGTH = struct.Struct("<q")
"""What stands before machine code; -1 where there is none."""
PATIENCE = 60.0
"""Seconds to wait for the first job."""


def main() -> None:
    package = types.ModuleType("riselang")
    package.__path__ = [str(Path(__file__).parents[2])]
    sys.modules["riselang"] = package
    from riselang.native.build import Job
    from riselang.native.mlir.bindings import load

    load()
    output = sys.stdout.buffer
    if not select.select([sys.stdin], [], [], PATIENCE)[0]:
        return
    for line in sys.stdin:
        try:
            code = Job.from_json(line).object_code()
        except Exception:
            # Whoever asked compiles it again and finds out why.
            output.write(LENGTH.pack(-1))
        else:
            output.write(LENGTH.pack(len(code)) + code)
        output.flush()


if __name__ == "__main__":
    main()
