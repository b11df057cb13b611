"""The table of the classic kernels in C: which statements are recognised as what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from riselang.frontends.c.building import program_of
from riselang.frontends.c.file import CFile
from riselang.frontends.c.lift.choices import Choice, for_product
from riselang.frontends.c.lift.costs import PATTERNS
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.parts import parts_of
from riselang.frontends.c.tactics.recognition import Recognised, recognised
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.frontends.c.tactics.terms import lifting_of
from riselang.support.config import Options

KERNELS = Path(__file__).parents[2] / "examples" / "c" / "kernels"


def table() -> str:
    """A row for each kernel, made by running it through the front end."""
    rows = [
        "| kernel | statements | recognised | lifted to RISE | ops of linalg | runs as patterns "
        "| calls of BLAS |",
        "|---|---|---|---|---|---|---|",
    ]
    for path in sorted(KERNELS.glob("*.c")):
        scop = CFile.of(path.read_text(), path.name).whole()
        found = recognised(scop)
        lifted = [each for each in found if _is_lifted(scop, each)]
        names = [_names(each) for each in (found, lifted)]
        cells = [*map(_counted, names), _ops(scop), _patterns(scop), _calls(scop)]
        rows.append(f"| {path.stem} | {len(found)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _patterns(scop: Scop) -> str:
    """How many products run as patterns by default, and how many with permission."""
    always, relaxed = (
        sum(each.way is PATTERNS for each in _choices(scop, Options("affine", float)))
        for float in ("contract", "relaxed")
    )
    texts = [f"{always}"] if always else []
    texts += [f"{relaxed - always} relaxed"] if relaxed > always else []
    return ", ".join(texts) or "-"


def _ops(scop: Scop) -> str:
    text = program_of([scop], Options("affine", "strict")).linalg()
    return _counted(re.findall(r"linalg\.(?!yield)(\w+)", text))


def _calls(scop: Scop) -> str:
    options = Options("affine", "relaxed", library="blas")
    text = program_of([scop], options).affine()
    return _counted(re.findall(r"call @cblas_d(\w+)", text))


def _choices(scop: Scop, options: Options) -> list[Choice]:
    products = [part.product for part in parts_of(scop)]
    return [
        for_product(scop, each.product if isinstance(each, RowProduct) else each, options)
        for each in products
        if each is not None
    ]


def _is_lifted(scop: Scop, found: Recognised) -> bool:
    try:
        lifting_of(scop, found)
    except NotLifted:
        return False
    return found.tactic is not None


def _names(found: Sequence[Recognised]) -> list[str]:
    return [each.tactic for each in found if each.tactic is not None]


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(names).items()) or "-"
