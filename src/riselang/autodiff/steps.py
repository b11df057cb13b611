"""The steps of a derivative: which rule was applied to which part of the program, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riselang.autodiff.differentiation import gradient_term
from riselang.autodiff.evaluation import float_leaves
from riselang.autodiff.instantiation import normalize_function
from riselang.autodiff.reverse import DerivativeStep
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import DataType, is_float, uncurry
from riselang.support.errors import UserError
from riselang.term.nodes import Term


@dataclass(frozen=True)
class GradientDerivation:
    """A program, the steps of its derivative in reverse mode, and the program that computes its
    result and its gradient."""

    start: Term
    steps: Sequence[DerivativeStep]
    end: Term

    def lines(self) -> Iterator[str]:
        """Return a line for each step."""
        for number, step in enumerate(self.steps, 1):
            yield f"{number}. {step}"


def derive_gradient(term: Term) -> GradientDerivation:
    """Differentiate a closed program by all arguments that consist of floats."""
    inputs, output = uncurry(term.type)
    for type in inputs:
        if not isinstance(type, DataType):
            raise UserError(
                f"the program takes a function, of type {format_type(type)}, which has no "
                "derivative; apply the program to that function first",
                term.location,
            )
    if not is_float(output):
        raise UserError(
            f"the program returns {format_type(output)}, but a gradient needs a result that "
            "is one float; sum the result",
            term.location,
        )
    active = [all(float_leaves(type)) for type in inputs]
    if not any(active):
        raise UserError(
            "derivatives exist only with respect to floats, but the program takes "
            f"{', '.join(map(format_type, inputs)) or 'no arguments'}; convert an argument before, "
            "with cast[f32](x)",
            term.location,
        )
    steps: list[DerivativeStep] = []
    gradient = gradient_term(term, active, steps)
    return GradientDerivation(term, tuple(steps), normalize_function(gradient))
