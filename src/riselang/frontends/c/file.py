"""A C file and its regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from riselang.frontends.c.model.extraction import extract
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.clang import ParsedFile, parse
from riselang.frontends.c.parse.detection import detected_regions
from riselang.frontends.c.parse.inlining import Inliner
from riselang.frontends.c.parse.refusals import Refusal
from riselang.frontends.c.parse.regions import Marked, Region, marked_regions, marks, whole_function
from riselang.frontends.c.parse.statements import StatementReader
from riselang.frontends.c.parse.syntax import Function
from riselang.support.errors import SourceLocation, UserError
from riselang.support.lazy import cached_property
from riselang.support.recursion import deep


@dataclass(frozen=True)
class CFile:
    """A parsed file; regions are modeled on demand."""

    parsed: ParsedFile
    functions: tuple[Function, ...]
    marks: tuple[Marked, ...] = ()

    @staticmethod
    @deep
    def of(
        text: str,
        name: str,
        include: Sequence[str] = (),
        defines: Mapping[str, object] | None = None,
    ) -> CFile:
        parsed = parse(text, name, include, defines)
        try:
            functions = tuple(StatementReader(parsed).functions())
            return CFile(parsed, functions, tuple(marks(parsed)))
        except RecursionError:
            start = SourceLocation(name, 1)
            raise Refusal(start, "expressions or statements nest too deeply") from None

    @cached_property
    def _own_functions(self) -> list[Function]:
        return [each for each in self.functions if each.place.file == self.parsed.name]

    @cached_property
    def _by_name(self) -> dict[str, Function]:
        return {function.name: function for function in self.functions}

    def marked(self, function: str | None = None) -> list[Region]:
        """Return the regions between pragmas, of one function or of all."""
        regions = marked_regions(self._own_functions, self.marks)
        if function is not None:
            self.function(function)
            regions = [region for region in regions if region.function.name == function]
        return regions

    def function(self, name: str) -> Function:
        if name not in {each.name for each in self._own_functions}:
            known = ", ".join(each.name for each in self._own_functions) or "none"
            raise UserError(f"{self.parsed.name} has no function {name}; it has: {known}")
        return self._by_name[name]

    def only_function(self) -> Function:
        """Return the default function: the one with pragmas, or the only one."""
        marked = list(dict.fromkeys(region.function.name for region in self.marked()))
        names = marked or [each.name for each in self._own_functions if not each.is_static]
        if len(names) == 1:
            return self._by_name[names[0]]
        known = ", ".join(names) or "none"
        raise UserError(
            f"{self.parsed.name}: several functions are candidates; name one of: {known}"
        )

    @deep
    def model(self, region: Region) -> Scop:
        """Extract the model of a region; raises an error if something cannot be modeled."""
        try:
            inliner = Inliner(self._by_name, [region.function.name])
            statements = inliner.statements(region.statements)
            return extract(replace(region, statements=statements))
        except RecursionError:
            raise Refusal(region.place, "expressions nest too deeply") from None

    def whole(self, name: str | None = None) -> Scop:
        """Extract the model of a whole function."""
        function = self.only_function() if name is None else self.function(name)
        return self.model(whole_function(function))

    def detected(self, function: str | None = None) -> tuple[list[Scop], list[Refusal]]:
        """Return the longest regions with loops that can be modeled, and the errors of others."""
        chosen = self._own_functions if function is None else [self.function(function)]
        scops: list[Scop] = []
        refusals: list[Refusal] = []
        for each in chosen:
            found, refused = detected_regions(each, self.model)
            scops += found
            refusals += refused
        return scops, refusals
