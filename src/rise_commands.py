"""How `rise` and `rise-opt` are started: Ctrl-C while the compiler is being loaded is quiet, too.

Loading takes half a second, and no module of the package can see to that: Python runs
`riselang/__init__.py` before whatever is asked for in it. So this stands beside the package.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager


def rise() -> None:
    """The command `rise`."""
    with _loading():
        from riselang.tools.rise import main
    main()


def rise_opt() -> None:
    """The command `rise-opt`."""
    with _loading():
        from riselang.tools.rise_opt import main
    main()


@contextmanager
def _loading() -> Generator[None]:
    """End at once by Ctrl-C: nothing has been done yet, and an import cannot be left half done."""
    # Who starts us in the background ignores it; that stays so.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)
