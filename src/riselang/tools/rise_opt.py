"""`rise-opt`: read MLIR text, run passes, print the result.

Flags are those of xDSL's `xdsl-opt`. The result goes to standard output, everything else to
standard error. Exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong, 70 internal
error.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from riselang import __version__
from riselang.dialects.module import decode, module_text, parse_module, verify_module
from riselang.errors import UserError
from riselang.tools.exits import USAGE, run_tool


class RiseOptMain(xDSLOptMain):
    """xDSL's driver with located errors, and with MLIR's spelling of pipelines too."""

    version_format = f"rise-opt {__version__}, on xdsl {{xdsl_version}}"

    def register_all_frontends(self) -> None:
        def parse_mlir(stream: IO[bytes]) -> ModuleOp:
            text = decode(stream.read(), self.get_input_name())
            return parse_module(text, self.get_input_name(), self.ctx)

        self.available_frontends["mlir"] = parse_mlir

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        if self.args.input_file in (None, "-"):
            return sys.stdin.buffer, "mlir"
        try:
            return open(self.args.input_file, "rb"), "mlir"
        except OSError as error:
            raise UserError(f"{self.args.input_file} cannot be read: {error.strerror}") from None

    def setup_pipeline(self) -> None:
        try:
            self.pipeline = PassPipeline.parse_spec(
                self.available_passes, without_anchor(self.args.passes), self._between_passes
            )
        except (ValueError, ArgSpecParseError, Exception) as error:
            print(f"rise-opt: error: -p: {error}", file=sys.stderr)
            raise SystemExit(USAGE) from None
        self._started = time.perf_counter()

    def _between_passes(
        self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        if previous is not None and self.args.time_passes:
            elapsed = time.perf_counter() - self._started
            print(f"{previous.name}: {elapsed * 1e3:.3f} ms", file=sys.stderr)
        if not self.args.disable_verify:
            verify_module(module)
        if previous is not None and self.args.print_between_passes:
            print(f"// IR after {previous.name}\n{module_text(module)}", file=sys.stderr)
        self._started = time.perf_counter()

    def apply_passes(self, prog: ModuleOp) -> None:
        if not self.args.disable_verify:
            verify_module(prog)
        super().apply_passes(prog)


def without_anchor(pipeline: str) -> str:
    """MLIR writes `builtin.module(a,b)` where xDSL writes `a,b`."""
    found = re.fullmatch(r"\s*builtin\.module\((.*)\)\s*", pipeline, re.DOTALL)
    return found[1] if found else pipeline


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `rise-opt`."""
    run_tool(lambda: RiseOptMain("RISE and MLIR optimizer driver", arguments).run())


if __name__ == "__main__":
    main()
