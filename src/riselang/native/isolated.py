"""Work of MLIR on modules that others wrote, in a process of its own, which it may take down.

It is run as a file. A request comes in as JSON, and its answer goes out. MLIR and LLVM are all that
it needs, so it does not import the package as a whole.
"""

from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Died(Exception):
    """The process ended without an answer."""


def ask(task: str, request: Mapping[str, Any]) -> Any:
    """What the function of that name, of `native.isolated_tasks`, gives for a request."""
    command = [sys.executable, str(Path(__file__)), task]
    given = json.dumps(request).encode()
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    try:
        return json.loads(done.stdout) if done.returncode == 0 else _died(done.returncode)
    except ValueError:
        return _died(done.returncode)


def _died(code: int) -> Any:
    raise Died(f"signal {-code}" if code < 0 else f"exit code {code}")


def main() -> None:
    package = types.ModuleType("riselang")
    package.__path__ = [str(Path(__file__).parents[1])]
    sys.modules["riselang"] = package
    from riselang.native import isolated_tasks

    request = json.load(sys.stdin.buffer)
    answer = getattr(isolated_tasks, sys.argv[1])(request)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
