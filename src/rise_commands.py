"""Entry points of the commands: Ctrl-C prints no traceback, even while they are loading.

Loading takes half a second. No module of the package can handle an interrupt in that time, since
Python runs `riselang/__init__.py` first; so this module is outside of the package.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager


def rise() -> None:
    """Run the command `rise`."""
    if sys.argv[1:2] == ["cc"]:
        # Builds call it for each file, and most of them need nothing else.
        del sys.argv[1]
        rise_cc()
        return
    with _loading():
        from riselang.tools.rise import main
    main()


def rise_cc() -> None:
    """Run the command `rise cc`."""
    with _loading():
        from riselang.tools.cc.driver import run_driver
    run_driver(sys.argv[1:])


def rise_opt() -> None:
    """Run the command `rise-opt`."""
    with _loading():
        from riselang.tools.rise_opt import main
    main()


@contextmanager
def _loading() -> Generator[None]:
    """Exit immediately on Ctrl-C: there is nothing to clean up, and an import cannot be resumed."""
    # Shells make background processes ignore SIGINT; keep that.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)
