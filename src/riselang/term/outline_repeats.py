"""Outlining repeated structure: one function for values that are computed in the same way.

    let a = x |> map(f(u)); let b = a |> map(f(v)); g(b)
    ~>  let repeated = fun((p, q), p |> map(f(q))); let a = repeated(x, u); ...

The layers of a deep network differ only in their weights. Each becomes a call to one function,
which is rewritten, lowered and compiled once. The values that a program stores or names form a
sequence, in the order in which they are computed. A run of values that occurs twice or more, with
the same dependences, becomes a function of its external inputs: variables, small views of
variables (the even and the odd elements, in a Fourier transform), and literals that differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET, MAP
from riselang.dialects.rise.types import FunType, contains_array
from riselang.term.anti_unification import (
    CommonForms,
    fill_form,
    free_variables,
    replace_variables,
)
from riselang.term.deep_recursion import recursive
from riselang.term.flattening import FlatProgram, ProgramValue
from riselang.term.let_writer import LetWriter, close_function, parts_of_tuple, tuple_of
from riselang.term.nodes import (
    ARITHMETIC,
    VARIABLES,
    Free,
    Lambda,
    Pattern,
    Scalar,
    Term,
    apply_all,
    has_pattern,
    pattern_bits,
    subterms_with,
)
from riselang.term.repeats import Repeats

MIN_SAVING = 100
"""The minimum number of nodes that a function must remove from the program to be worth a call."""
KERNEL_SIZE = 100
"""The number of nodes that a schedule typically adds to a stored map of maps of reductions, such as
a matrix multiplication: tiles, vectors and packing."""
NAME = "repeated"


@recursive
def outline(program: Term) -> Term:
    """Outline repeated runs of values; a program without any is returned unchanged."""
    if not has_pattern(program, "let", "toMem", "tuple") or _calls_named_functions(program):
        return program
    flat_program = FlatProgram(program)
    blocks = _choose_blocks(flat_program.values, flat_program.result)
    return _rebuild(flat_program, blocks) if blocks else program


def _calls_named_functions(program: Term) -> bool:
    return any(
        isinstance(each, Pattern) and each.spec is LET and isinstance(each.argument("s"), FunType)
        for each in subterms_with(program, pattern_bits(LET.name))
    )


@dataclass(eq=False)
class _Block:
    """Runs of values that are computed in the same way; all become calls to one function."""

    runs: list[range]
    outputs: list[int]
    """The positions, in a run, of the values that are needed outside of it."""
    common: _CommonFunction


@dataclass(frozen=True)
class _CommonFunction:
    """The common function of several runs, and the arguments that each passes to it."""

    terms: list[Term]
    """The values of a run, in which parameters and `inner_variables` are free."""
    inner_variables: list[Free]
    parameters: list[Free]
    arguments: list[list[Term]]
    """The arguments of each run."""


def _choose_blocks(values: Sequence[ProgramValue], result: Term) -> list[_Block]:
    """The blocks to outline, those that save the most first; no value is in two blocks."""
    numbering: dict[Term | None, int] = {}
    form_numbers = [numbering.setdefault(value.form, len(numbering)) for value in values]
    sizes = [_code_size(value) for value in values]
    uses = _Uses(values, result)
    repeats = Repeats(form_numbers, sizes, MIN_SAVING)
    blocks: list[_Block] = []
    for run in repeats:
        for block in _find_blocks(repeats.occurrences(run), values, uses):
            blocks.append(block)
            repeats.used_positions.update(number for each in block.runs for number in each)
    return blocks


class _Uses:
    """Which values use which other values, and which values are results of the program."""

    def __init__(self, values: Sequence[ProgramValue], result: Term):
        self.results = set(free_variables(result))
        self.numbers = {value.variable: number for number, value in enumerate(values)}
        self.users: list[list[int]] = [[] for _ in values]
        """The numbers of the values that use each value."""
        for number, value in enumerate(values):
            for variable in dict.fromkeys(value.used_variables):
                if variable in self.numbers:
                    self.users[self.numbers[variable]].append(number)


def _code_size(value: ProgramValue) -> int:
    """The size of a value's code, in nodes of a term."""
    if value.kind != "stored" or not has_pattern(value.term, "reduce"):
        return value.size
    parts = subterms_with(value.term, pattern_bits(MAP.name))
    maps = sum(isinstance(each, Pattern) and each.spec is MAP for each in parts)
    return value.size + (KERNEL_SIZE if maps >= 2 else 0)


def _find_blocks(
    runs: Sequence[range], values: Sequence[ProgramValue], uses: _Uses
) -> Iterator[_Block]:
    """One block of all runs that can become calls; if they differ too much, one block for each
    group of runs with the same dependences."""
    outputs = _outputs(runs, values, uses)
    runs = [run for run in runs if _can_be_called(run, outputs, values, uses)]
    if (block := _make_block(runs, values, uses)) is not None:
        yield block
        return
    groups: dict[tuple[Term, ...], list[range]] = {}
    for run in runs:
        groups.setdefault(_dependences(run, values), []).append(run)
    for group in groups.values():
        if len(group) < len(runs) and (block := _make_block(group, values, uses)) is not None:
            yield block


def _make_block(
    runs: Sequence[range], values: Sequence[ProgramValue], uses: _Uses
) -> _Block | None:
    """The runs as a block, if they can become calls to one function."""
    if not runs:
        return None
    saved_runs = len(runs) - 1
    if saved_runs * sum(_code_size(values[number]) for number in runs[0]) < MIN_SAVING:
        return None
    if all(isinstance(values[number].form, Free) for number in runs[0]):
        # These are only views, which compute nothing.
        return None
    outputs = _outputs(runs, values, uses)
    if not outputs:
        return None
    if len(outputs) > 1 and any(
        values[each[position]].kind == "result" for each in runs for position in outputs
    ):
        # The outputs would have to be copied to the result buffers of the program.
        return None
    common = _common_function(runs, values)
    return None if common is None else _Block(list(runs), outputs, common)


def _common_function(
    runs: Sequence[range], values: Sequence[ProgramValue]
) -> _CommonFunction | None:
    """The common function of the runs; None if a difference cannot be passed as an argument."""
    inner_variables = _inner_variables(runs[0], values)
    forms = CommonForms(dict.fromkeys(inner_variables))
    renamings = [_rename_inner(run, values, inner_variables) for run in runs]
    terms: list[Term] = []
    for position, first in enumerate(runs[0]):
        rows = [
            [replace_variables(part, renaming) for part in values[run[position]].parts]
            for run, renaming in zip(runs, renamings, strict=True)
        ]
        parts = [forms.common_form(each) for each in zip(*rows, strict=True)]
        form = values[first].form
        assert form is not None
        terms.append(fill_form(form, [part for part in parts if part is not None]))
        if None in parts:
            return None
    arguments = [[column[row] for column in forms.parameters] for row in range(len(runs))]
    return _CommonFunction(terms, inner_variables, list(forms.parameters.values()), arguments)


def _inner_variables(run: range, values: Sequence[ProgramValue]) -> list[Free]:
    """Variables for the values of a run, the same for runs of the same form."""
    return [
        Free(f"@inside{position}", values[number].variable.type)
        for position, number in enumerate(run)
    ]


def _rename_inner(
    run: range, values: Sequence[ProgramValue], inner_variables: Sequence[Free]
) -> dict[Term, Term]:
    """The variables that replace the values of a run in the function."""
    return {
        values[number].variable: name for number, name in zip(run, inner_variables, strict=True)
    }


def _dependences(run: range, values: Sequence[ProgramValue]) -> tuple[Term, ...]:
    """The parts of all values of a run, with variables numbered by first use."""
    renaming = _rename_inner(run, values, _inner_variables(run, values))
    for number in run:
        for variable in values[number].used_variables:
            renaming.setdefault(variable, Free(f"@{len(renaming)}", variable.type))
    return tuple(
        replace_variables(part, renaming) for number in run for part in values[number].parts
    )


def _outputs(runs: Sequence[range], values: Sequence[ProgramValue], uses: _Uses) -> list[int]:
    """The positions of the values that are needed outside of their run, in at least one run."""
    return [
        position
        for position in range(len(runs[0]) if runs else 0)
        if any(_is_output(run, position, values, uses) for run in runs)
    ]


def _is_output(run: range, position: int, values: Sequence[ProgramValue], uses: _Uses) -> bool:
    """Whether a value is needed outside of its run."""
    number = run[position]
    is_result = values[number].variable in uses.results
    return is_result or any(each not in run for each in uses.users[number])


def _can_be_called(
    run: range, outputs: Sequence[int], values: Sequence[ProgramValue], uses: _Uses
) -> bool:
    """Whether the outputs of a run are arrays that no later loop would be fused with."""
    types = [values[run[output]].variable.type for output in outputs]
    return all(map(contains_array, types)) and not any(
        _is_fused_outside(run[output], run, values, uses) for output in outputs
    )


def _is_fused_outside(number: int, run: range, values: Sequence[ProgramValue], uses: _Uses) -> bool:
    """Whether a loop outside the run, such as a bias addition, may be fused into a value's loop."""
    value = values[number]
    if value.kind != "stored" or not has_pattern(value.term, "reduce"):
        return False
    if has_pattern(value.term, "slide"):
        # The default strategy stores the result of a convolution before it computes with it.
        return False
    users = [values[each].term for each in uses.users[number] if each not in run]
    return any(not has_pattern(user, "reduce") and _has_arithmetic(user) for user in users)


def _has_arithmetic(term: Term) -> bool:
    return any(isinstance(each, Scalar) for each in subterms_with(term, ARITHMETIC))


def _rebuild(program: FlatProgram, blocks: Sequence[_Block]) -> Term:
    calls: dict[int, tuple[_Block, int, Free]] = {}
    writer = LetWriter()
    for number, block in enumerate(blocks):
        function = outline(_outlined_function(program.values, block))
        variable = Free(f"${NAME}{number}", function.type)
        writer.bind(variable, function, NAME)
        for index, run in enumerate(block.runs):
            calls[run.start] = (block, index, variable)
    position, uses = 0, _count_uses(program)
    while position < len(program.values):
        if position not in calls:
            value = program.values[position]
            is_shared = value.kind == "stored" and uses[value.variable] > 1
            writer.add(value, is_named=is_shared or value.kind == "named")
            position += 1
            continue
        block, index, variable = calls[position]
        call = apply_all(
            variable, [writer.inline_variables(each) for each in block.common.arguments[index]]
        )
        run = block.runs[index]
        _write_call(writer, [program.values[run[each]] for each in block.outputs], call)
        position = run.stop
    return close_function(program.parameters, program.inputs, writer.to_lets(program.result))


def _count_uses(program: FlatProgram) -> Counter[Free]:
    """Count the uses of each value, directly or through views."""
    counts: dict[int, Counter[Free]] = {}

    @recursive
    def count(term: Term) -> Counter[Free]:
        if isinstance(term, Free):
            return Counter([term])
        if not term.patterns & VARIABLES:
            return Counter()
        if id(term) not in counts:
            total: Counter[Free] = Counter()
            for child in term.children:
                total += count(child)
            counts[id(term)] = Counter({each: min(uses, 2) for each, uses in total.items()})
        return counts[id(term)]

    terms = [*(value.term for value in program.values), program.result]
    return sum(map(count, terms), Counter[Free]())


def _outlined_function(values: Sequence[ProgramValue], block: _Block) -> Term:
    """The function that a block becomes; names and kinds are those of the first run."""
    common = block.common
    first_run = [values[number] for number in block.runs[0]]
    run = [
        ProgramValue(variable, value.name, term, value.kind)
        for variable, value, term in zip(
            common.inner_variables, first_run, common.terms, strict=True
        )
    ]
    outputs = [run[position] for position in block.outputs]
    used_variables = {variable for value in run for variable in free_variables(value.term)}
    writer = LetWriter()
    for value in run:
        is_used_output = value in outputs and value.variable in used_variables
        writer.add(
            value, is_named=is_used_output or (value.kind == "named" and value not in outputs)
        )
    results = [writer.result_term(value) for value in outputs]
    body = writer.to_lets(tuple_of(results))
    lambdas = [Lambda(f"x{at}", each.type, each) for at, each in enumerate(common.parameters)]
    return close_function(lambdas, common.parameters, body)


def _write_call(writer: LetWriter, outputs: Sequence[ProgramValue], call: Term) -> None:
    if len(outputs) == 1:
        (value,) = outputs
        writer.add_as(value, call, is_named=value.kind != "result")
        return
    results = Free(f"{outputs[0].variable.name}.all", call.type)
    writer.bind(results, call, "results")
    for value, part in zip(outputs, parts_of_tuple(results, len(outputs)), strict=True):
        writer.inline(value, part)
