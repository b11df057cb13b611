"""`rise-opt`: read MLIR text, run passes, print the result.

The flags are those of `xdsl-opt`. The result goes to standard output, everything else to standard
error. Exit codes: 0 ok, 1 the input is wrong, 2 the command line is wrong, 70 internal error.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from riselang.dialects.irdl import irdl_text
from riselang.dialects.module import OUR_DIALECTS, module_text, parse_module, verify_module
from riselang.dialects.rise.dialect import Rise
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.passes import PASSES
from riselang.support.errors import InternalError, LimitationError, RiseError, UserError
from riselang.support.io import decode_text, write_file
from riselang.support.profiling import add_time, format_spans, record_spans, time_span
from riselang.support.recursion import with_deep_stack
from riselang.tools.diagnostics import check_diagnostics
from riselang.tools.exits import USAGE, run_tool
from riselang.version import __version__

SEPARATOR = "// -----"


@cache
def _multiverse() -> Universe:
    """Return the dialects and passes of all installed packages; searching them is slow."""
    return Universe.get_multiverse()


class RiseOptMain(xDSLOptMain):
    """The `xdsl-opt` driver with located errors and MLIR's spelling of pipelines."""

    version_format = f"rise-opt {__version__}, on xdsl {{xdsl_version}}"

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        for flag, summary in (
            ("--list-passes", "print the passes and exit"),
            ("--list-patterns", "print the patterns with their types and exit"),
            ("--list-rules", "print the rules of rise-rewrite with their laws and exit"),
            ("--list-strategies", "print the schedules, strategies and combinators and exit"),
            ("--print-irdl", "print the dialect in IRDL, for native MLIR to load, and exit"),
            ("--print-ir-after-all", "print the IR after each pass to standard error"),
            ("--timing", "print a time profile to standard error"),
        ):
            arg_parser.add_argument(flag, action="store_true", help=summary)

    def register_all_dialects(self) -> None:
        for name, factory in {**_multiverse().all_dialects, **OUR_DIALECTS}.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        ours = {name: spec.load for name, spec in PASSES.items()}
        self.available_passes |= {**_multiverse().all_passes, **ours}

    def register_all_targets(self) -> None:
        # The driver's own targets take precedence.
        self.available_targets = {**_multiverse().all_targets, **self.available_targets}

    def register_all_frontends(self) -> None:
        def parse_mlir(stream: IO[bytes]) -> ModuleOp:
            text = decode_text(stream.read(), self.get_input_name())
            return self._parse_text(text)

        self.available_frontends["mlir"] = parse_mlir

    def _parse_text(self, text: str) -> ModuleOp:
        """Parse a module; xDSL parses StableHLO only in generic form, as unregistered ops."""
        name = self.get_input_name()
        if "stablehlo." in text or "chlo." in text:
            from riselang.native.mlir.stablehlo_text import has_stablehlo, to_generic_form

            if has_stablehlo(text):
                self.ctx.allow_unregistered = True
                text = to_generic_form(text, name)
        return parse_module(text, name, self.ctx)

    def setup_pipeline(self) -> None:
        try:
            self.pipeline = PassPipeline.parse_spec(
                self.available_passes, strip_anchor(self.args.passes), self._between_passes
            )
        except (ValueError, ArgSpecParseError, Exception) as error:
            print(f"rise-opt: error: -p: {error}", file=sys.stderr)
            raise SystemExit(USAGE) from None
        self._started = time.perf_counter()

    def run(self) -> None:
        if self.args.list_passes:
            print("\n".join(map(_pass_line, sorted(self.available_passes))))
        elif self.args.list_patterns:
            print("\n".join(f"{spec!r}  -- {spec.description}" for spec in PATTERNS.values()))
        elif self.args.list_rules or self.args.list_strategies:
            from riselang.tools.vocabulary import list_rules, list_strategies

            sys.stdout.write(list_rules() if self.args.list_rules else list_strategies())
        elif self.args.print_irdl:
            sys.stdout.write(irdl_text(Rise))
        elif self.args.timing:
            with record_spans("rise-opt") as root:
                self._process(decode_text(self._read(), self.get_input_name()))
            print(format_spans(root), end="", file=sys.stderr)
        else:
            self._process(decode_text(self._read(), self.get_input_name()))

    def _read(self) -> bytes:
        if self.args.input_file in (None, "-"):
            return sys.stdin.buffer.read()
        try:
            return Path(self.args.input_file).read_bytes()
        except OSError as error:
            raise UserError(f"{self.args.input_file} cannot be read: {error.strerror}") from None

    def _process(self, text: str) -> None:
        """Process each part of the input separately; line numbers refer to the whole input."""
        parts = text.split(SEPARATOR) if self.args.split_input_file else [text]
        line = 0
        results: list[str] = []
        for part in parts:
            results.append(self._process_part("\n" * line + part))
            line += part.count("\n")
        output = f"{SEPARATOR}\n".join(results)
        if self.args.output_file is None:
            sys.stdout.write(output)
        else:
            write_file(self.args.output_file, output)

    @with_deep_stack
    def _process_part(self, text: str) -> str:
        first_error: RiseError | None = None
        result = ""
        try:
            module = self._parse_text(text)
            self.apply_passes(module)
            with time_span("print"):
                result = self.output_resulting_program(module)
        except (UserError, LimitationError) as error:
            first_error = error
        except Exception as error:  # any other exception is a defect; save the input
            raise _reproducible_error(text, self.args.passes, error) from error
        if self.args.verify_diagnostics:
            check_diagnostics(text, self.get_input_name(), first_error)
        elif first_error is not None:
            raise first_error
        return result

    def _between_passes(
        self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        if previous is not None:
            elapsed = time.perf_counter() - self._started
            add_time(previous.name, elapsed)
            if self.args.time_passes:
                print(f"{previous.name}: {elapsed * 1e3:.3f} ms", file=sys.stderr)
        if not self.args.disable_verify:
            verify_module(module)
        prints = self.args.print_between_passes or self.args.print_ir_after_all
        if previous is not None and prints:
            print(f"// IR after {previous.name}\n{module_text(module)}", file=sys.stderr)
        self._started = time.perf_counter()

    def apply_passes(self, prog: ModuleOp) -> None:
        if not self.args.disable_verify:
            verify_module(prog)
        super().apply_passes(prog)


def _pass_line(name: str) -> str:
    """Return a line for a pass; a summary of other packages' passes would require loading them."""
    return f"{name}  -- {PASSES[name].summary}" if name in PASSES else name


def _reproducible_error(text: str, passes: str, error: Exception) -> InternalError:
    """Return an internal error, and write a file that reproduces it."""
    with tempfile.NamedTemporaryFile("w", prefix="rise-opt-", suffix=".mlir", delete=False) as file:
        file.write(f"// rise-opt -p '{passes}'\n{text}")
    return InternalError(
        f"{type(error).__name__}: {error}", None, f"a reproducer is in {file.name}"
    )


def strip_anchor(pipeline: str) -> str:
    """Convert MLIR's pipeline `builtin.module(a,b)` to xDSL's `a,b`."""
    match = re.fullmatch(r"\s*builtin\.module\((.*)\)\s*", pipeline, re.DOTALL)
    return match[1] if match else pipeline


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command `rise-opt`."""
    run_tool(lambda: RiseOptMain("RISE and MLIR optimizer driver", arguments).run())


if __name__ == "__main__":
    main()
