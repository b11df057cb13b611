"""Checking definitions one by one: the term of each, or its errors.

`rise check` stops at the first error (`program.py`); an editor shows all of them (`analysis.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_printer import show
from riselang.nat import NatError
from riselang.notation.context import Undetermined, general
from riselang.notation.elaboration import Elaborator
from riselang.notation.names import Resolved
from riselang.notation.source import Source
from riselang.notation.syntax import Definition
from riselang.support.errors import LimitationError, RiseError, UserError
from riselang.term.finish import finish
from riselang.term.nodes import Term


@dataclass(frozen=True)
class Checked:
    """A checked definition: its term, or why it has none, or its errors.

    A definition that refers to a wrong one is not checked, and has none of the three.
    """

    syntax: Definition
    elaborator: Elaborator | None = None
    """The elaborator, with the types of the nodes it has built, also after an error."""
    term: Term | None = None
    missing: UserError | None = None
    """Why a polymorphic helper, whose types only its uses determine, has no term."""
    problems: Sequence[RiseError] = ()


def check_definitions(
    definitions: Sequence[Definition],
    source: Source,
    resolved: Resolved,
    known: Mapping[Definition, Checked] | None = None,
) -> Iterator[Checked]:
    """Check the definitions in order, except those that are known; call it on a deep stack."""
    used = used_definitions(resolved)
    known = known or {}
    wrong: set[Definition] = set()
    for definition in definitions:
        problems = resolved.problems.get(definition, ())
        if definition in known:
            checked = replace(known[definition], syntax=definition)
        elif problems or not wrong.isdisjoint(resolved.uses[definition]):
            checked = Checked(definition, problems=problems)
        else:
            checked = _checked(definition, Elaborator(source, resolved.bindings), used)
        if checked.term is None and checked.missing is None:
            wrong.add(definition)
        yield checked


def used_definitions(resolved: Resolved) -> Set[Definition]:
    """Return the definitions that others refer to."""
    return set[Definition]().union(*resolved.uses.values())


def _checked(definition: Definition, elaborator: Elaborator, used: Set[Definition]) -> Checked:
    try:
        return Checked(definition, elaborator, _elaborated(definition, elaborator))
    except UserError as error:
        # A helper that takes functions may be correct at each use without having a single type.
        deferred = definition in used and elaborator.assumes_functions
        if definition.start is None or not (deferred or isinstance(error, Undetermined)):
            return Checked(definition, elaborator, problems=[error])
        return Checked(definition, elaborator, missing=error)
    except RecursionError:
        message = "the program nests too deeply where its definitions are inlined"
        location = elaborator.source.location(definition.span)
        return Checked(definition, problems=[LimitationError(message, location)])
    except RiseError as error:
        return Checked(definition, elaborator, problems=[error])


def _elaborated(definition: Definition, elaborator: Elaborator) -> Term:
    source = elaborator.source
    try:
        node = elaborator.infer(definition.value, elaborator.top)
        try:
            elaborator.check_finished()
        except Undetermined as error:
            if definition.start is None:
                raise
            type = general(elaborator.resolve(node.type))
            note = f"{definition.name} works for every {show(type)}"
            raise Undetermined(error.message, error.location, note) from None
        return finish(node, elaborator.inference)
    except RiseError as error:
        raise error.located(source.location(elaborator.at)) from None
    except (NatError, VerifyException) as error:
        raise source.error(str(error), elaborator.at) from None
