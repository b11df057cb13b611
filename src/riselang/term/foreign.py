"""Regions of foreign ops, which are opaque in terms."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region

from riselang.support.lazy import cached_property


@dataclass(frozen=True, eq=False)
class ForeignRegion:
    """A region owned by a term; never changed, only cloned. Regions with equal text are equal."""

    region: Region = field(repr=False)

    @cached_property
    def text(self) -> str:
        # Printing a module imports every dialect, which most programs never need.
        from riselang.dialects.module import module_text

        holder = ModuleOp(self.region.clone())
        for op in holder.walk():
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                value.name_hint = None
        return module_text(holder, generic=True)
