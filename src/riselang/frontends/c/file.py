"""A C file and its regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from riselang.frontends.c.model.extraction import extract_scop
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.assumptions import check_pragmas
from riselang.frontends.c.parse.clang import ParsedFile, parse_c
from riselang.frontends.c.parse.detection import detect_regions
from riselang.frontends.c.parse.inlining import Inliner
from riselang.frontends.c.parse.jump_removal import remove_jumps, remove_returns
from riselang.frontends.c.parse.reassigned_parameters import copy_reassigned
from riselang.frontends.c.parse.record_expansion import expand_records
from riselang.frontends.c.parse.regions import (
    MarkedRange,
    Region,
    find_marked_ranges,
    regions_from_pragmas,
    whole_function,
)
from riselang.frontends.c.parse.single_records import drop_single_dimensions
from riselang.frontends.c.parse.statements import StatementReader
from riselang.frontends.c.parse.syntax import Function
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation, UserError
from riselang.support.lazy import cached_property
from riselang.support.recursion import with_deep_stack


@dataclass(frozen=True)
class CFile:
    """A parsed file; regions are modeled on demand."""

    parsed: ParsedFile
    functions: tuple[Function, ...]
    marks: tuple[MarkedRange, ...] = ()

    @staticmethod
    @with_deep_stack
    def parse_text(
        text: str,
        name: str,
        include: Sequence[str] = (),
        defines: Mapping[str, object] | None = None,
    ) -> CFile:
        return CFile.of_parsed(parse_c(text, name, include, defines))

    @staticmethod
    @with_deep_stack
    def of_parsed(parsed: ParsedFile) -> CFile:
        """Read the functions and the marked regions of a file."""
        try:
            check_pragmas(parsed)
            functions = tuple(StatementReader(parsed).read_functions())
            return CFile(parsed, functions, tuple(find_marked_ranges(parsed)))
        except RecursionError:
            start = SourceLocation(parsed.name, 1)
            raise UnsupportedConstruct(start, "expressions or statements nest too deeply") from None

    @cached_property
    def _defined_functions(self) -> list[Function]:
        return [
            each for each in self.functions
            if each.location.file == self.parsed.name and not each.is_only_called
        ]  # fmt: skip

    @cached_property
    def _functions_by_name(self) -> dict[str, Function]:
        return {function.name: function for function in self.functions}

    def marked_regions(self, function: str | None = None) -> list[Region]:
        """Return the regions between pragmas, of one function or of all."""
        regions = regions_from_pragmas(self._defined_functions, self.marks)
        if function is not None:
            self.find_function(function)
            regions = [region for region in regions if region.function.name == function]
        return regions

    def find_function(self, name: str) -> Function:
        if name not in {each.name for each in self._defined_functions}:
            known = ", ".join(each.name for each in self._defined_functions) or "none"
            raise UserError(f"{self.parsed.name} has no function {name}; it has: {known}")
        return self._functions_by_name[name]

    def only_function(self) -> Function:
        """Return the default function: the one with pragmas, or the only one."""
        marked = list(dict.fromkeys(region.function.name for region in self.marked_regions()))
        names = marked or [each.name for each in self._defined_functions if not each.is_static]
        if len(names) == 1:
            return self._functions_by_name[names[0]]
        known = ", ".join(names) or "none"
        raise UserError(
            f"{self.parsed.name}: several functions are candidates; name one of: {known}"
        )

    @with_deep_stack
    def model_region(self, region: Region) -> Scop:
        """Extract the model of a region; raises an error if something cannot be modeled."""
        try:
            inliner = Inliner(self._functions_by_name, [region.function.name])
            if region.is_whole:
                structured = remove_returns(region.function)
                structured = copy_reassigned(region.function, structured)
            else:
                structured = remove_jumps(region.statements)
            statements = expand_records(inliner.inline_statements(structured))
            statements = drop_single_dimensions(statements)
            scop = extract_scop(replace(region, statements=statements))
            return replace(scop, region=region)
        except RecursionError:
            raise UnsupportedConstruct(region.location, "expressions nest too deeply") from None

    def model_function(self, name: str | None = None) -> Scop:
        """Extract the model of a whole function."""
        function = self.only_function() if name is None else self.find_function(name)
        return self.model_region(whole_function(function))

    def detect_scops(
        self, function: str | None = None
    ) -> tuple[list[Scop], list[UnsupportedConstruct]]:
        """Return the longest regions with loops that can be modeled, and the errors of others."""
        chosen = self._defined_functions if function is None else [self.find_function(function)]
        scops: list[Scop] = []
        refusals: list[UnsupportedConstruct] = []
        for each in chosen:
            found, refused = detect_regions(each, self.model_region)
            scops += found
            refusals += refused
        return scops, refusals
