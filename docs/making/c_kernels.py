"""The table of the classic C kernels: what each statement is recognized as."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.file import CFile
from riselang.frontends.c.lift.choices import ImplementationChoice, choose_for_product
from riselang.frontends.c.lift.costs import PATTERN_CODE
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.lifted_programs import lift_recognized
from riselang.frontends.c.tactics.loop_fission import split_region
from riselang.frontends.c.tactics.recognition import Recognition, recognize_statements
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.support.config import Options

KERNELS = Path(__file__).parents[2] / "examples" / "c" / "kernels"


def table() -> str:
    """Return a row for each kernel, from a run of the front end."""
    rows = [
        "| kernel | statements | recognized | lifted to RISE | linalg ops | runs as patterns "
        "| BLAS calls |",
        "|---|---|---|---|---|---|---|",
    ]
    for path in sorted(KERNELS.glob("*.c")):
        scop = CFile.parse_text(path.read_text(), path.name).model_function()
        found = recognize_statements(scop)
        lifted = [each for each in found if _is_lifted(scop, each)]
        names = [_names(each) for each in (found, lifted)]
        cells = [*map(_counted, names), _ops(scop), _patterns(scop), _calls(scop)]
        rows.append(f"| {path.stem} | {len(found)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _patterns(scop: Scop) -> str:
    """Return how many products run as patterns by default, and how many more if relaxed."""
    always, relaxed = (
        sum(
            each.implementation is PATTERN_CODE for each in _choices(scop, Options("affine", float))
        )
        for float in ("contract", "relaxed")
    )
    texts = [f"{always}"] if always else []
    texts += [f'{relaxed - always} with `float="relaxed"`'] if relaxed > always else []
    return ", ".join(texts) or "-"


def _ops(scop: Scop) -> str:
    text = make_program([scop], Options("affine", "strict")).linalg_text()
    return _counted(re.findall(r"linalg\.(?!yield)(\w+)", text))


def _calls(scop: Scop) -> str:
    options = Options("affine", "relaxed", library="blas")
    text = make_program([scop], options).affine_text()
    return _counted(re.findall(r"call @cblas_d(\w+)", text))


def _choices(scop: Scop, options: Options) -> list[ImplementationChoice]:
    products = [part.product for part in split_region(scop)]
    return [
        choose_for_product(scop, each.product if isinstance(each, RowProduct) else each, options)
        for each in products
        if each is not None
    ]


def _is_lifted(scop: Scop, found: Recognition) -> bool:
    try:
        lift_recognized(scop, found)
    except NotLifted:
        return False
    return found.tactic is not None


def _names(found: Sequence[Recognition]) -> list[str]:
    return [each.tactic for each in found if each.tactic is not None]


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(names).items()) or "-"
