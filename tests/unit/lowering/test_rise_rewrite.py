"""The pass `rise-rewrite`: strategies in pipelines, in files and on functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.passes import PassPipeline

from riselang.dialects.module import functions, make_context, parse_module, verify_module
from riselang.lowering.passes.rise_rewrite import RiseRewritePass
from riselang.notation.program import parse_term
from riselang.support.errors import UserError
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Term
from riselang.term.to_dialect import program_module
from riselang.universe import RISE_UNIVERSE

ROWS = parse_term("fun((x : 4.6.f32), x |> map(fun(row, row |> map(fun(e, e * e + e)))))")


def rewritten(
    pipeline: str,
    term: Term = ROWS,
    results: int = 1,
    strategy: str | None = None,
    float: str | None = None,
) -> Term:
    """What a pipeline makes of the only program of a module; the rest are attributes."""
    module = program_module(term, "program", results)
    (function,) = functions(module)
    if strategy is not None:
        function.attributes["rise.strategy"] = StringAttr(strategy)
    if float is not None:
        module.attributes["rise.float"] = StringAttr(float)
    PassPipeline.parse_spec(RISE_UNIVERSE.all_passes, pipeline).apply(make_context(), module)
    verify_module(module)
    ((_, unit),) = read_units(function)
    return unit.term


def test_a_pipeline_carries_all_that_strategies_are_written_with() -> None:
    text = '(split_join(2) @ outermost(\\"map\\", nest=2) | id) >> try(fuse())'
    assert "split(2)" in repr(rewritten(f'rise-rewrite{{strategy="{text}"}}'))
    lines = 'tiles = split_join(2)\\n[tiles, id]\\ntiles @ outermost(\\"map\\")'
    with pytest.raises(UserError, match="expected name = strategy"):
        rewritten(f'rise-rewrite{{strategy="{lines}"}}')
    lines = 'tiles = split_join(2)\\ntiles @ outermost(\\"map\\")'
    assert "split(2)" in repr(rewritten(f'rise-rewrite{{strategy="{lines}"}},contract-rise-floats'))


def test_a_strategy_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.strategy"
    path.write_text("top_down(map_in_parallel)\n")
    assert "mapPar" in repr(rewritten(f'rise-rewrite{{strategy="{path}"}}'))
    with pytest.raises(UserError, match=r"gone\.strategy cannot be read"):
        rewritten('rise-rewrite{strategy="gone.strategy"}')


def test_functions_have_strategies_of_their_own() -> None:
    own = "everywhere(map_as_loop)"
    assert repr(rewritten("rise-rewrite", strategy=own)).count("mapSeq") == 2
    given = rewritten('rise-rewrite{strategy="top_down(map_in_parallel)"}', strategy=own)
    assert "mapSeq" not in repr(given)
    # It was used, so a second pass does nothing.
    twice = rewritten("rise-rewrite,rise-rewrite", strategy="top_down(map_as_loop)")
    assert repr(twice).count("mapSeq") == 1
    assert rewritten("rise-rewrite") == ROWS


@pytest.mark.parametrize(
    ("option", "attribute", "contracts"),
    [("", None, True), ("", "strict", False), ("", "relaxed", True), (" float=strict", None, False),
     (" float=contract", "strict", True)],
)  # fmt: skip
def test_the_float_permission_is_that_of_the_option_or_the_module(
    option: str, attribute: str | None, contracts: bool
) -> None:
    term = rewritten(f'rise-rewrite{{strategy="id"{option}}}', float=attribute)
    assert ("fma" in repr(term)) is contracts


def test_programs_of_several_results_stay_so() -> None:
    term = parse_term(
        "fun((x : 4.i32), (x |> reduce(add, 0), x |> map(fun(e, e + 1)) |> map(fun(e, e * 2))))"
    )
    result = rewritten('rise-rewrite{strategy="fuse()"}', term, 2)
    assert "x |> map(fun(e, (e + 1) * 2))" in repr(result)


def test_a_program_that_is_a_function_by_itself_gets_its_parameter_back() -> None:
    term = parse_term("fun((x : 4.i32), x |> reverse)")
    assert rewritten('rise-rewrite{strategy="id"}', term) == term


def test_a_strategy_that_does_not_apply_names_the_op() -> None:
    text = """
    func.func @f(%out : memref<3xi32>, %a : memref<3xi32>) {
      rise.lowering_unit {
        %x = rise.in %a : !rise.array<3, scalar<i32>>
        %r = rise.reverse #rise.nat<3> #rise.scalar<i32>
        %y = rise.apply %r, %x
        rise.out %out <- %y
        rise.return
      }
      func.return
    }
    """
    module = parse_module(text, "reverse.mlir")
    strategy = "top_down(transpose_of_transpose)"
    with pytest.raises(UserError, match=r"^reverse\.mlir:.*transpose_of_transpose failed"):
        RiseRewritePass(strategy).apply(make_context(), module)


def test_a_permission_that_there_is_not_is_rejected() -> None:
    with pytest.raises(UserError, match="expected float to be one of strict, contract, relaxed"):
        rewritten('rise-rewrite{strategy="id" float=fast}')
