"""Programs of files as terms, at specific sizes or with symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from riselang.api.kernel import Kernel
from riselang.dialects.module import functions, verify_module
from riselang.nat import Nat
from riselang.support.errors import UserError
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Term
from riselang.term.size_substitution import check_sizes, free_sizes, substitute_sizes
from riselang.term.to_dialect import program_module
from riselang.tools.calls import select_function


def kernel_program(kernel: Kernel, sizes: Mapping[str, int]) -> Term:
    """Return the program of a kernel, verified at its sizes."""
    traced = kernel.trace(**sizes)
    verify_module(program_module(traced.term, traced.name, traced.results))
    return traced.term


def function_program(
    module: ModuleOp, file: str, function: str | None, sizes: Mapping[str, int]
) -> Term:
    """Return the only program of a function of a module."""
    defined = {each.sym_name.data: each for each in functions(module)}
    chosen = select_function(file, function, defined)
    name, found = chosen.sym_name.data, read_units(chosen)
    if len(found) != 1:
        raise UserError(f"{file}: expected one program in function {name}, but found {len(found)}")
    return _term_at_sizes(found[0][1].term, name, sizes)


def _term_at_sizes(term: Term, name: str, sizes: Mapping[str, int]) -> Term:
    known = free_sizes(term)
    for size in sizes:
        if size not in known:
            raise UserError(
                f"{name} has no size {size}; it has: {', '.join(sorted(known)) or 'none'}"
            )
    given = {size: Nat.const(number) for size, number in sizes.items()}
    check_sizes(term, given)
    return substitute_sizes(term, given)
