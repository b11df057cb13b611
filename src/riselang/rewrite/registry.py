"""The names that strategies may use: for the command line, for strategy files and for tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from typing import Any, ParamSpec

from riselang.rewrite.combinators import Named, choice, fail, id_, not_, repeat, seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.parameters import alternatives, multiples, open_call, param, powers_of_two
from riselang.rewrite.rule import RULES
from riselang.rewrite.selectors import innermost, loop, nth, outermost, path
from riselang.rewrite.traversals import (
    all_,
    argument,
    body,
    bottom_up,
    everywhere,
    function,
    inside,
    normalize,
    one,
    some,
    top_down,
)
from riselang.support.errors import UserError

P = ParamSpec("P")
RULE_FAMILIES = (
    "algorithmic", "movement", "simplification", "functions", "vectorization", "lowering",
    "storing", "accumulate_into", "dot_products", "attention", "weighted_sums", "gpu",
    "tensor_cores", "tails", "ranks",
)  # fmt: skip
"""The modules of `rules/`, in the order of the documentation."""
STRATEGY_MODULES = (
    "schedules", "contractions", "panels", "dot_products", "skinny_matmul",
    "reduction_schedules", "matmul", "convolution", "stencils", "images", "threads",
    "transposed_copies", "convolution_tiles", "gpu_mapping", "gpu", "gpu_tensor_cores",
    "gpu_reductions", "gpu_sums", "gpu_scans", "gpu_attention", "accumulated_rows",
    "loops_in_lanes", "ranks", "default_schedule",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A strategy, or a function that returns one, with its name and summary."""

    name: str
    make: Callable[..., Strategy]
    summary: str
    parameters: str
    is_schedule: bool
    module: str


ENTRIES: dict[str, Entry] = {}
"""Schedules and strategies for whole programs, in order of definition."""


def schedule(make: Callable[P, Strategy]) -> Callable[P, Strategy]:
    """Register a loop transformation, such as `tile(32, 32)`; it is printed as it was called."""

    @wraps(make)
    def make_named(*args: P.args, **kwargs: P.kwargs) -> Strategy:
        if (open_strategy := open_call(name, args, kwargs)) is not None:
            return open_strategy
        arguments = [repr(each) for each in args]
        arguments += [f"{name}={value!r}" for name, value in kwargs.items()]
        return Named(f"{name}({', '.join(arguments)})", make(*args, **kwargs))

    name = make.__name__.rstrip("_")
    summary = inspect.cleandoc(make.__doc__ or "").partition("\n\n")[0]
    fields = (name, make_named, " ".join(summary.split()), format_signature(make))
    ENTRIES[name] = Entry(*fields, True, make.__module__)
    return make_named


def require_positive(schedule_name: str, **parameters: int) -> None:
    """Raise an error unless all parameters of a schedule are at least 1."""
    for name, value in parameters.items():
        if value < 1:
            raise UserError(f"{schedule_name}: '{name}' must be at least 1, but got {value}")


def format_signature(make: Callable[..., Any]) -> str:
    """Format the parameters of a function without their annotations."""
    parameters = inspect.signature(make).parameters.values()
    return ", ".join(
        str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in parameters
    )


def program_strategy(name: str, strategy: Strategy, summary: str) -> Strategy:
    """Register a strategy for whole programs: `matmul.blocking`, from the module `matmul`."""
    named_strategy = Named(name, strategy)
    module = f"riselang.rewrite.strategies.{name.partition('.')[0]}"
    ENTRIES[name] = Entry(name, lambda: named_strategy, summary, "", False, module)
    return named_strategy


@cache
def load_all() -> None:
    """Define every rule and strategy."""
    for family in RULE_FAMILIES:
        import_module(f"riselang.rewrite.rules.{family}")
    for module in STRATEGY_MODULES:
        import_module(f"riselang.rewrite.strategies.{module}")
    import_module("riselang.rewrite.saturation.guided_search")
    _sort_entries()


def _sort_entries() -> None:
    """Sort the entries by module, whichever was imported first."""
    modules = [f"riselang.rewrite.strategies.{name}" for name in STRATEGY_MODULES]
    sorted_entries = sorted(
        ENTRIES.items(),
        key=lambda item: modules.index(item[1].module) if item[1].module in modules else 99,
    )
    ENTRIES.clear()
    ENTRIES.update(sorted_entries)


def names_by_kind() -> dict[str, dict[str, Any]]:
    """Combinators, traversals, addresses and normal forms, by kind and name."""
    from riselang.rewrite.normal_forms import beta_eta_normal_form, data_flow_normal_form

    return {
        "combinators": {
            "id": id_, "fail": fail, "seq": seq, "choice": choice, "try": try_, "repeat": repeat,
            "not": not_,
        },
        "traversals": {
            "top_down": top_down, "bottom_up": bottom_up, "everywhere": everywhere,
            "normalize": normalize, "all": all_, "some": some, "one": one, "body": body,
            "function": function, "argument": argument, "inside": inside,
        },
        "parameters": {
            "param": param, "alternatives": alternatives, "powers_of_two": powers_of_two,
            "multiples": multiples,
        },
        "addresses": {
            "outermost": outermost, "innermost": innermost, "nth": nth, "loop": loop,
            "path": path,
        },
        "normal forms": {
            "data_flow_normal_form": data_flow_normal_form,
            "beta_eta_normal_form": beta_eta_normal_form,
        },
    }  # fmt: skip


def vocabulary() -> dict[str, Any]:
    """Every name that the text of a strategy may use."""
    load_all()
    names: dict[str, Any] = {}
    for kind in names_by_kind().values():
        names.update(kind)
    names.update(RULES)
    names.update(
        {name: entry.make if entry.is_schedule else entry.make() for name, entry in ENTRIES.items()}
    )
    return names
