"""Functions that only change the layout of their argument, and stores through maps of them.

`x |> transpose |> map(join)` as a result needs no extra loop: the code that computes `x` stores
each element at its final position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import STORE_OPS, ViewOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.pattern_registry import MAP
from riselang.dialects.rise.types import ArrayType, NatAttr, array, element_of, uncurry
from riselang.lowering.functional_values import Closure, Partial, Value
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import Translation, size_argument
from riselang.term.nodes import Bound, Lambda, Pattern, Term, spine

STORABLE_VIEWS: Mapping[str, type[ViewOp]] = {
    name: step
    for name, step in STORE_OPS.items()
    if isinstance(uncurry(step.SPEC.type)[1], ArrayType)
}
"""The views that a store can go through, directly and in maps."""


@dataclass(frozen=True)
class Layout:
    """A composition of views, the last one first."""

    views: tuple[Pattern | Layout, ...]
    """A layout among the views applies to each element."""


def is_lossless(layout: Layout) -> bool:
    """Whether a store through a layout stores every element."""
    views = layout.views
    return all(
        is_lossless(view)
        if isinstance(view, Layout)
        else STORABLE_VIEWS[view.spec.name].HEADROOM is None
        for view in views
    )


def is_layout(function: Term) -> bool:
    return _term_layout(function) is not None


def layout_of(function: Value) -> Layout | None:
    """Return the views that a function consists of, if it consists only of views."""
    if isinstance(function, Partial):
        is_view = function.pattern.spec.name in STORABLE_VIEWS and not function.arguments
        return Layout((function.pattern,)) if is_view else None
    return _term_layout(function.function) if isinstance(function, Closure) else None


def _term_layout(function: Term) -> Layout | None:
    if isinstance(function, Pattern):
        return Layout((function,)) if function.spec.name in STORABLE_VIEWS else None
    if not isinstance(function, Lambda):
        return None
    views: list[Pattern | Layout] = []
    body = function.body
    while not isinstance(body, Bound):
        head, arguments = spine(body)
        if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
            return None
        view = head if head.spec.name in STORABLE_VIEWS else None
        if head.spec is MAP:
            view = _term_layout(arguments[0])
        if view is None:
            return None
        views.append(view)
        body = arguments[-1]
    return Layout(tuple(views)) if body.index == 0 and views else None


def size_attribute(step: type[ViewOp], view: Pattern) -> NatAttr | None:
    """Return the size of a view that its op has as an attribute, if any."""
    attribute = step.VIEW.size_attribute
    return None if attribute is None else NatAttr(size_argument(view, attribute.parameter))


class LayoutRules(Translation):
    """Stores through maps of views."""

    def target_before_map(self, layout: Layout, target: SSAValue) -> SSAValue:
        """Return the target for the elements before a map of views is applied."""
        type = data_type(target)
        block = Block(arg_types=[element_of(type)])
        with self.emitter.inside_block(block):
            inner_target = self.target_before(layout, block.args[0])
            self.emitter.add(ReturnOp([inner_target]))
        assert isinstance(type, ArrayType)
        result = array(type.length, data_type(inner_target))
        return self.add(codegen.MapAccOp(target, Region(block), result))

    def target_before(self, layout: Layout, target: SSAValue) -> SSAValue:
        for view in layout.views:
            if isinstance(view, Layout):
                target = self.target_before_map(view, target)
            else:
                (source,), _ = uncurry(view.type)
                step = STORABLE_VIEWS[view.spec.name]
                target = self.add(step(target, source, size_attribute(step, view)))
        return target
