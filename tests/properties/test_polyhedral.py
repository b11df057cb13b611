"""Loops that MLIR tiles and vectorises give the bits of the loops as they are."""

from __future__ import annotations

from functools import cache

import numpy as np

from riselang import pipelines
from riselang.compiler.lowering_steps import loop_passes
from riselang.dialects.module import make_context, parse_module
from riselang.support.config import Options
from support.affine_nests import RandomNest, random_nest
from support.fuzzing import Ran, seeds
from support.guarded import Request, Runner


@cache
def runner() -> Runner:
    return Runner({"RISE_NUM_THREADS": "1"})


@seeds(48, nightly=120, fuzzed=6_000, batch=24)
def test_random_nests_keep_their_results(seeds: range, ran: Ran) -> None:
    nests = [random_nest(seed, f"f{seed}") for seed in seeds]
    try:
        compare(nests)
    except Exception:
        for nest in nests:
            compare([nest])
        raise
    ran("affine nests: polyhedral = as they are", len(nests))
    passes = [planned(nest) for nest in nests]
    ran("affine nests that were tiled", sum("affine-loop-tile" in text for text in passes))
    ran("affine nests that were vectorised", sum("super-vectorize" in text for text in passes))


def compare(nests: list[RandomNest]) -> None:
    text = "".join(nest.text for nest in nests)
    calls = [nest.call(seed) for seed, nest in enumerate(nests)]
    plain, optimised = (
        runner().run(Request(text, loops, calls)) for loops in ("affine", "polyhedral")
    )
    for nest, expected, found in zip(nests, plain, optimised, strict=True):
        for before, after in zip(expected, found, strict=True):
            assert np.array_equal(before[0], after[0], equal_nan=True), (nest.text, planned(nest))


def planned(nest: RandomNest) -> str:
    """The passes that the nest gets."""
    module = parse_module(nest.text)
    loop_passes(Options("polyhedral"))[-1].apply(make_context(), module)
    (function,) = module.body.block.ops
    attribute = function.attributes.get(pipelines.PLANNED_PASSES)
    return str(attribute)
