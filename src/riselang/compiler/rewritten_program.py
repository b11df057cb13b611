"""The values between the steps of the compiler, before there is a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from riselang.support.config import Options
from riselang.support.structures import PLAIN_INTERFACE, Interface
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation


@dataclass(frozen=True)
class Program:
    """A closed function from inputs to a tuple of results."""

    name: str
    term: Term
    results: int = 1
    interface: Interface = PLAIN_INTERFACE


@dataclass(frozen=True)
class RewrittenProgram:
    """A program after rewriting, to be lowered."""

    program: Program
    options: Options
    """The options; `contracted` is set if contraction has been done."""
    derivation: Derivation | None
    """The steps of the strategy; None if no strategy rewrote it."""
