"""Checking definitions one by one: the term of each, or its errors.

`rise check` stops at the first error (`program.py`); an editor shows all of them (`analysis.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_printer import format_type
from riselang.nat import NatError
from riselang.notation.context import UndeterminedType, generalize
from riselang.notation.elaboration import Elaborator
from riselang.notation.name_resolution import NameResolution
from riselang.notation.source import Source
from riselang.notation.syntax import Definition
from riselang.support.errors import LimitationError, RiseError, UserError
from riselang.support.structures import PLAIN_INTERFACE, Interface
from riselang.term.complex_numbers import complex_interface
from riselang.term.finish import finish
from riselang.term.nodes import Term


@dataclass(frozen=True)
class CheckedDefinition:
    """A checked definition: its term, or why it has none, or its errors.

    A definition that refers to an invalid one is not checked, and has none of the three.
    """

    syntax: Definition
    elaborator: Elaborator | None = None
    """The elaborator, with the types of the nodes it has built, also after an error."""
    term: Term | None = None
    undetermined: UserError | None = None
    """Why a polymorphic helper, whose types only its uses determine, has no term."""
    problems: Sequence[RiseError] = ()
    interface: Interface = PLAIN_INTERFACE
    """Which parameters and results are complex."""


def check_definitions(
    definitions: Sequence[Definition],
    source: Source,
    resolved: NameResolution,
    reusable: Mapping[Definition, CheckedDefinition] | None = None,
) -> Iterator[CheckedDefinition]:
    """Check the definitions in order, except reusable ones; must be called on a deep stack."""
    used_names = used_definitions(resolved)
    reusable = reusable or {}
    invalid: set[Definition] = set()
    for definition in definitions:
        problems = resolved.problems.get(definition, ())
        if definition in reusable:
            checked = replace(reusable[definition], syntax=definition)
        elif problems or not invalid.isdisjoint(resolved.uses[definition]):
            checked = CheckedDefinition(definition, problems=problems)
        else:
            checked = _check_definition(
                definition, Elaborator(source, resolved.bindings), used_names
            )
        if checked.term is None and checked.undetermined is None:
            invalid.add(definition)
        yield checked


def used_definitions(resolved: NameResolution) -> Set[Definition]:
    """Return the definitions that other definitions refer to."""
    return set[Definition]().union(*resolved.uses.values())


def _check_definition(
    definition: Definition, elaborator: Elaborator, used_names: Set[Definition]
) -> CheckedDefinition:
    try:
        term, interface = _elaborate(definition, elaborator)
        return CheckedDefinition(definition, elaborator, term, interface=interface)
    except UserError as error:
        # A helper that takes functions may be correct at each use without having a single type.
        deferred = definition in used_names and elaborator.assumes_functions
        if definition.start is None or not (deferred or isinstance(error, UndeterminedType)):
            return CheckedDefinition(definition, elaborator, problems=[error])
        return CheckedDefinition(definition, elaborator, undetermined=error)
    except RecursionError:
        message = "the program nests too deeply where its definitions are inlined"
        location = elaborator.source.location(definition.span)
        return CheckedDefinition(definition, problems=[LimitationError(message, location)])
    except RiseError as error:
        return CheckedDefinition(definition, elaborator, problems=[error])


def _elaborate(definition: Definition, elaborator: Elaborator) -> tuple[Term, Interface]:
    source = elaborator.source
    try:
        node = elaborator.infer(definition.value, elaborator.top)
        try:
            elaborator.check_finished()
        except UndeterminedType as error:
            if definition.start is None:
                raise
            type = generalize(elaborator.resolve(node.type))
            note = f"{definition.name} works for every {format_type(type)}"
            raise UndeterminedType(error.message, error.location, note) from None
        term = finish(node, elaborator.inference)
        return term, complex_interface(elaborator.resolve(node.type))
    except RiseError as error:
        raise error.with_location(source.location(elaborator.latest_span)) from None
    except (NatError, VerifyException) as error:
        raise source.error(str(error), elaborator.latest_span) from None
