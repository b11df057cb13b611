"""A process that compiles jobs: it reads one job per line, and writes its machine code.

It is run as a script. It needs only MLIR and LLVM, so it does not import the whole package, which
would take longer than many jobs.
"""

from __future__ import annotations

import select
import struct
import sys
import types
from pathlib import Path

LENGTH = struct.Struct("<q")
"""The header of a reply: the length of the machine code, or -1 if compilation failed."""
IDLE_TIMEOUT = 60.0
"""The number of seconds to wait for the first job."""


def main() -> None:
    package = types.ModuleType("riselang")
    package.__path__ = [str(Path(__file__).parents[2])]
    sys.modules["riselang"] = package
    from riselang.native.compile_job import Job
    from riselang.native.mlir.bindings import load_wheel

    load_wheel()
    output = sys.stdout.buffer
    if not select.select([sys.stdin], [], [], IDLE_TIMEOUT)[0]:
        return
    for line in sys.stdin:
        try:
            code = Job.from_json(line).object_code()
        except Exception:
            # The caller compiles the job again, and reports the error.
            output.write(LENGTH.pack(-1))
        else:
            output.write(LENGTH.pack(len(code)) + code)
        output.flush()


if __name__ == "__main__":
    main()
