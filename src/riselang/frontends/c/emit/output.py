"""The insertion point for ops in a function."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.location_attributes import file_location
from riselang.frontends.c.emit.indices import IndexEmitter
from riselang.frontends.c.model.scop import Scop
from riselang.support.errors import SourceLocation


class OpInserter:
    """An insertion point in a function; all ops have locations in the C file."""

    def __init__(self, scop: Scop, block: Block):
        self.scop = scop
        self._builder = Builder(InsertPoint.at_end(block))
        self._location = scop.location
        self.indices = IndexEmitter(self.insert)
        self.failure: SSAValue | None = None
        """The buffer for failed checks, if there are any."""

    def insert(self, op: Operation) -> Operation:
        op.location = file_location(self._location.file, self._location.line, self._location.column)
        return self._builder.insert(op)

    def add(self, op: Operation) -> SSAValue:
        return self.insert(op).results[0]

    @contextmanager
    def at_location(self, location: SourceLocation) -> Generator[None]:
        """Set the location in the C file of the ops that are added in this context."""
        outer, self._location = self._location, location
        try:
            yield
        finally:
            self._location = outer

    @contextmanager
    def inside_block(self, block: Block) -> Generator[None]:
        outer, self._builder = self._builder, Builder(InsertPoint.at_end(block))
        try:
            yield
        finally:
            self._builder = outer

    def emit_choice(
        self,
        condition: SSAValue,
        type: Attribute,
        first: Callable[[], SSAValue],
        second: Callable[[], SSAValue],
    ) -> SSAValue:
        regions: list[Region] = []
        for branch in (first, second):
            block = Block()
            with self.inside_block(block):
                self.insert(scf.YieldOp(branch()))
            regions.append(Region(block))
        return self.add(scf.IfOp(condition, [type], regions[0], regions[1]))
