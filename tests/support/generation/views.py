"""Arrays whose elements are those of others, in another order."""

from __future__ import annotations

from riselang.dialects.rise.types import (
    RiseType,
    array,
    element_of,
)
from riselang.term.nodes import Apply, Pattern, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, use
from support.random_types import MAXIMUM_RANK, length_of, rank


class Views(Maker):
    """Views of a wanted type."""

    def split(self, type: RiseType, place: Place) -> Term:
        n, inner = length_of(type), element_of(type)
        m, t = length_of(inner), element_of(inner)
        if m == 0:
            return self.leaf(type, place)
        return Apply(use("split", m, n, t), self.term(array(n * m, t), place.deeper))

    def join(self, type: RiseType, place: Place) -> Term:
        length, t = length_of(type), element_of(type)
        if rank(type) == MAXIMUM_RANK:
            return self.leaf(type, place)
        if length == 0:
            n, m = self.choices.of(((0, 2), (2, 0), (0, 0), (3, 0)))
        else:
            n = self.choices.of([k for k in range(1, length + 1) if length % k == 0])
            m = length // n
        return Apply(use("join", n, m, t), self.term(array(n, array(m, t)), place.deeper))

    def transpose(self, type: RiseType, place: Place) -> Term:
        m, inner = length_of(type), element_of(type)
        n, t = length_of(inner), element_of(inner)
        source = array(n, array(m, t))
        return Apply(use("transpose", n, m, t), self.term(source, place.deeper))

    def slide(self, type: RiseType, place: Place) -> Term:
        n, inner = length_of(type), element_of(type)
        size, t = length_of(inner), element_of(inner)
        steps = [step for step in (1, 2, 3, 5) if step * n + size - step >= 0]
        if size == 0 or not steps:
            return self.leaf(type, place)
        step = self.choices.of(steps)
        source = array(step * n + size - step, t)
        return Apply(use("slide", n, size, step, t), self.term(source, place.deeper))

    def pad(self, type: RiseType, place: Place) -> Term:
        length, t = length_of(type), element_of(type)
        if length == 0:
            return self.leaf(type, place)
        left = self.choices.below(min(length, 4))
        right = self.choices.below(min(length - left, 4))
        n = length - left - right
        return Apply(use("pad", n, left, right, t), self.term(array(n, t), place.deeper))

    def rearranged(self, type: RiseType, place: Place) -> Term:
        """A view that takes elements away, adds some, or turns them round."""
        length, t = length_of(type), element_of(type)
        more = self.choices.below(4)
        left = self.choices.below(min(length, 4) + 1)
        right = self.choices.below(min(length - left, 4) + 1)
        n = length - left - right
        options: list[tuple[Pattern, list[RiseType]]] = [
            (use("reverse", length, t), [type]),
            (use("prefetch", more, length, t), [type]),
            (use("nontemporal", length, t), [type]),
            (use("shard", 0, length, t), [type]),
            (use("take", length, more, t), [array(length + more, t)]),
            (use("drop", more, length, t), [array(length + more, t)]),
            (use("concat", left, length - left, t), [array(left, t), array(length - left, t)]),
            (use("padConst", n, left, right, t), [t, array(n, t)]),
        ]
        if max(left, right) <= n:
            options.append((use("padWrap", n, left, right, t), [array(n, t)]))
        if max(left, right) < n:
            options.append((use("padReflect", n, left, right, t), [array(n, t)]))
        pattern, sources = self.choices.of(options)
        return apply_all(pattern, [self.term(source, place.deeper) for source in sources])
