"""Elementwise operations of models on GPUs, which become parts of the kernels around them.

Models compute them in loops of their own, over blocks of the arrays that other kernels store or
read.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, element_of
from riselang.rewrite.combinators import choice, repeat, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.rules.algorithmic import (
    join_split_maps,
    map_fusion,
    reduce_map_fusion,
    zip_of_map_first,
    zip_of_map_second,
)
from riselang.rewrite.rules.functions import inline_let
from riselang.rewrite.strategies.matmul_shapes import match_product
from riselang.rewrite.strategies.schedules import SIMPLIFICATIONS
from riselang.rewrite.term_parts import has_cost, is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import everywhere, inside, normalize, run_at
from riselang.term.nodes import Bound, DepLambda, Lambda, Scalar, Term, subterms
from riselang.term.substitution import mentions

CONVERSIONS = ("arith.extf", "arith.truncf", "arith.extsi", "arith.sitofp")


@dataclass(frozen=True, repr=False)
class _JoinMappedBlocks(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        blocks = pattern_arguments(term, "join")
        mapped = pattern_arguments(blocks[0], "map") if blocks else None
        parts = pattern_arguments(mapped[1], "split") if mapped else None
        if parts is None or mapped is None or not isinstance(mapped[1].type, ArrayType):
            return Failure(self, "expected blocks that are mapped and joined", term)
        block = mapped[1].type.element
        assert isinstance(block, ArrayType)
        return join_split_maps(block.length).run(term, setting)

    def __str__(self) -> str:
        return "join_mapped_blocks()"


join_mapped_blocks = _JoinMappedBlocks()
"""Maps an array whose blocks are mapped and joined."""
_fuse_rows = map_fusion >> try_(inside(repeat(map_fusion)))
fuse_mapped_blocks = everywhere(join_mapped_blocks >> try_(_fuse_rows))
"""Computes blocks that are mapped and joined in the map that computes the array."""


@dataclass(frozen=True, repr=False)
class InlineConversions(Strategy):
    """Converts elements in the loops that read them, instead of storing all of them."""

    def run(self, term: Term, setting: Setting) -> Result:
        let = pattern_arguments(term, "let")
        if let is None or not isinstance(let[1], Lambda) or not _is_conversion(let[0]):
            return Failure(self, "expected a name for converted elements", term)
        paths = _maps_of(let[1].body)
        is_matrix = isinstance(element_of(let[0].type), ArrayType)
        if not paths or any(is_matrix and _multiplies(let[1].body, path) for path in paths):
            return Failure(self, "expected maps that read converted elements", term)
        result = inline_let.run(term, setting)
        for path in paths:
            assert isinstance(result, Success), result
            part = subterm_at(result.term, path)
            fused = run_at(_fuse_conversions, result.term, path, part, setting)
            assert isinstance(fused, Success), fused
            result = Success(fused.term, (*result.steps, *fused.steps))
        return result

    def __str__(self) -> str:
        return "inline_conversions()"


_fuse_conversions = normalize(
    choice(SIMPLIFICATIONS, zip_of_map_first, zip_of_map_second, map_fusion, reduce_map_fusion)
)


def _multiplies(body: Term, path: Path) -> bool:
    """Whether a map multiplies matrices, whose operands are of one type."""
    return any(match_product(part) is not None for part in subterms(subterm_at(body, path)))


def _is_conversion(value: Term) -> bool:
    """Whether a nest of maps only converts the elements of a stored array."""
    mapped = pattern_arguments(value, "map")
    if mapped is None or not is_free_to_read(mapped[1], ("toMem",)):
        return False
    body: Term | None = mapped[0]
    while isinstance(body, Lambda):
        element, body = Bound(0, body.parameter), body.body
        inner = pattern_arguments(body, "map")
        if inner is None:
            return (
                isinstance(body, Scalar) and body.op in CONVERSIONS and body.operands[0] == element
            )
        if inner[1] != element:
            return False
        body = inner[0]
    return False


def _maps_of(body: Term) -> list[Path]:
    """Return the paths of the outermost maps that read the innermost variable, if no others do."""
    paths: list[Path] = []
    stack: list[tuple[Path, Term, int]] = [((), body, 0)]
    while stack:
        path, term, index = stack.pop()
        if not mentions(term, index):
            continue
        mapped = pattern_arguments(term, "map")
        if mapped is not None and has_cost(mapped[0]):
            paths.append(path)
        elif isinstance(term, Bound):
            return []
        else:
            inner = index + isinstance(term, Lambda)
            children = term.children if not isinstance(term, DepLambda) else (term.children[0],)
            stack += [((*path, number), child, inner) for number, child in enumerate(children)]
    return paths
