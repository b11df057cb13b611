"""A program with its options and strategy: print any stage, compile or interpret it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from riselang.api.compiled import Compiled, Groups, locate_errors, pack_results
from riselang.api.complex_arrays import view_inputs
from riselang.compiler.pipeline import rewrite, should_rewrite
from riselang.compiler.rewritten_program import Program, RewrittenProgram
from riselang.compiler.tuned_strategies import choose_strategy
from riselang.dialects.rise.types import SCALAR_NAMES, RiseType, leaves, result_types, uncurry
from riselang.nat import Nat
from riselang.pipelines import GPU
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.default import DEFAULT, TUNED
from riselang.runtime.arrays import Array
from riselang.runtime.artifact import Buffer
from riselang.runtime.executable import Executable
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from riselang.support.foreign_libraries import foreign_address
from riselang.support.forking import hold_forks
from riselang.support.garbage_collection import infrequent_gc
from riselang.support.html import code, details
from riselang.support.lazy import cached_property
from riselang.support.observations import recording
from riselang.support.profiling import time_span
from riselang.support.progress import progress
from riselang.support.recursion import with_deep_stack
from riselang.support.structures import PLAIN_INTERFACE, Interface
from riselang.support.tracebacks import with_short_tracebacks
from riselang.term.complex_numbers import as_complex
from riselang.term.cost import Cost, cost
from riselang.term.nodes import CALLS, Pattern, Term, subterms_with
from riselang.term.size_substitution import check_sizes, substitute_sizes

if TYPE_CHECKING:
    from riselang.compiler.compilation import Compilation
    from riselang.rewrite.derivation import Derivation


def resolve_strategy(
    strategy: Strategy | str | None, fallback: Strategy | None = None
) -> Strategy | None:
    """Return a strategy that is given as a value, as text or as the name of a `.strategy` file.

    `"none"` disables rewriting; `"default"` is the default strategy; `"tuned"` is the one that the
    tuning database has for a program.
    """
    if strategy is None:
        return fallback
    if isinstance(strategy, Strategy):
        return strategy
    if strategy in STRATEGY_KEYWORDS:
        return STRATEGY_KEYWORDS[strategy]
    if not isinstance(strategy, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(f"strategy must be a strategy or its text, but is {strategy!r}")
    from riselang.rewrite.strategy_files import read_strategy

    return read_strategy(strategy)


STRATEGY_KEYWORDS: Mapping[object, Strategy | None] = {
    "none": None,
    "default": DEFAULT,
    "tuned": TUNED,
}


@dataclass(frozen=True)
class Lowered:
    """A program for specific sizes or for all sizes: print any stage of it, or compile it."""

    name: str
    source: Term
    """The source program."""
    results: int
    """The number of results."""
    options: Options
    strategy: Strategy | None = None
    """The strategy that rewrites the program before it is lowered."""
    interface: Interface = PLAIN_INTERFACE
    _checked_sizes: set[tuple[tuple[str, Nat], ...]] = field(
        default_factory=set[tuple[tuple[str, Nat], ...]]
    )
    _lock: Any = field(default_factory=RLock)
    _compile_times: list[float] = field(default_factory=list[float])

    @cached_property
    def _strategy(self) -> Strategy | None:
        """The strategy to apply: for the default one, a tuned one if there is one."""
        return choose_strategy(self.strategy, self.source, self.options)

    @cached_property
    @hold_forks()
    def _rewrite_result(self) -> RewrittenProgram:
        return rewrite(self._program, self._strategy, self.options)

    @property
    def _program(self) -> Program:
        return Program(self.name, self.source, self.results)

    @property
    def compilation(self) -> Compilation:
        """The stages of the compiler."""
        return self._compilation

    @cached_property
    @hold_forks()
    @with_deep_stack
    def _compilation(self) -> Compilation:
        # Only programs that are not in the cache need these modules.
        with time_span("import the compiler"):
            from riselang.compiler.compilation import Compilation
            from riselang.compiler.program_sources import TermSource

        source = TermSource(self.name, self.term, self.results)
        return Compilation(source, self._rewrite_result.options)

    @property
    def derivation(self) -> Derivation | None:
        """The steps by which the strategy rewrote the program; None without a strategy.

        Floats are contracted first, so all strategies produce bitwise identical results.
        """
        return self._rewrite_result.derivation

    @cached_property
    @with_deep_stack
    def _may_use_default_strategy(self) -> bool:
        """Whether the default strategy may rewrite this program."""
        is_default = self._strategy is DEFAULT and self.options.loops != GPU
        return is_default and should_rewrite(DEFAULT, self.source, self.options)

    @property
    def rewritten(self) -> Term:
        """The program after the strategy has rewritten it."""
        return self.source if self.derivation is None else self.derivation.end

    @property
    def term(self) -> Term:
        """The program that is lowered: contracted, rewritten, and with lets in normal form.

        `riselang.term.lets` defines this normal form.
        """
        return self._rewrite_result.program.term

    @with_deep_stack
    def split_by_known_parameters(
        self, first: str, parameters: int, known: Set[int]
    ) -> tuple[Lowered, Lowered] | None:
        """Split off the computations that depend only on `known` parameters.

        Returns None if there are no such computations. Otherwise the first program, named `first`,
        performs them, and the second one takes all parameters, followed by the first one's results.
        """
        from riselang.rewrite.staging import split_by_known_parameters, store_named_arrays

        result = rewrite(self._program, self._strategy, self.options, precompute=True)
        term = self.source if result.derivation is None else result.derivation.end
        if self.options.loops == GPU:
            term = store_named_arrays(term, parameters)
        split = split_by_known_parameters(term, parameters, known)
        if split is None:
            return None
        is_contracted = self.options.contracted or result.derivation is not None
        options = replace(self.options, contracted=is_contracted)
        return (
            Lowered(first, split.first, split.values, options),
            Lowered(self.name, split.second, self.results, options),
        )

    @with_deep_stack
    def without_unread_parameters(
        self, parameters: int, known: Set[int]
    ) -> tuple[Lowered, tuple[int, ...]]:
        """Drop the `known` parameters that are not read; return the positions of the others."""
        from riselang.rewrite.staging import drop_unread_parameters

        term, kept = drop_unread_parameters(self.source, parameters, known)
        return Lowered(self.name, term, self.results, self.options), kept

    @property
    def parameter_types(self) -> tuple[RiseType, ...]:
        """The parameter types, whose sizes type inference may have refined."""
        return uncurry(self.source.type)[0]

    @property
    def argument_types(self) -> tuple[RiseType, ...]:
        """The types of the arguments of a call: without captured arrays, with complex numbers."""
        types = self.parameter_types
        arguments = types[: len(types) - len(self.interface.captured)]
        flags = self.interface.complex_inputs or (False,) * len(arguments)
        pairs = zip(arguments, flags, strict=True)
        return tuple(as_complex(type) if is_complex else type for type, is_complex in pairs)

    @with_short_tracebacks
    @hold_forks()
    @with_deep_stack
    def as_text(self, stage: str = "rise") -> str:
        """Return the program at a stage: notation, rise, imperative, affine, llvm or asm."""
        if stage == "notation":
            return repr(self.term)
        return self.compilation.text(stage)

    def _repr_html_(self) -> str:
        steps = "" if self.derivation is None else self.derivation.as_html()
        return code(repr(self.source)) + steps + details("affine", code(self.as_text("affine")))

    @with_short_tracebacks
    @hold_forks()
    @with_deep_stack
    def explain(self) -> str:
        """Describe what the strategy does: the computations that the default strategy recognizes,
        or the rules that a given strategy applies; and the reductions of floats that would be
        faster in a different order."""
        from riselang.rewrite.strategies.explanation import explain_default, explain_derivation

        setting = Setting(self.options.float)
        if self._strategy is not DEFAULT or self.options.loops == GPU:
            return "\n".join(explain_derivation(self.term, self.derivation, setting))
        start = self.term if self.derivation is None else self.derivation.start
        return "\n".join(explain_default(start, self.derivation, setting))

    def cost_analysis(self) -> Cost:
        """Count the operations and bytes of the source program, and the work of its loops."""
        from riselang.term.work import source_work

        optimized_work = self.compilation.function_work(self.name)
        return replace(
            cost(self.source, self.results),
            work=source_work(self.source),
            optimized_work=optimized_work,
        )

    @with_short_tracebacks
    def compile(self) -> Compiled:
        """Return the program as machine code, read from the cache or compiled."""
        with hold_forks(), self._lock, infrequent_gc():
            return self._compiled

    @property
    def key(self) -> str:
        """The key of the program's machine code in the kernel cache."""
        return self._key

    @cached_property
    @with_deep_stack
    def _key(self) -> str:
        from riselang.compiler.caching import term_key

        if self._may_use_default_strategy:
            # The default strategy depends only on the machine, so the key needs no derivation.
            return term_key(self.source, self.name, self.results, self.options, str(DEFAULT))
        may_apply = self._strategy is not None and should_rewrite(
            self._strategy, self.source, self.options
        )
        is_derived = may_apply and self.derivation is not None
        options = replace(self.options, contracted=self.options.contracted or is_derived)
        term = self.rewritten if is_derived else self.source
        return term_key(term, self.name, self.results, options)

    @cached_property
    def _compiled(self) -> Compiled:
        from riselang.runtime.code_cache import find_or_compile

        if self.interface.observations:
            self._define_observation_functions()
        self._check_foreign_functions()
        start = perf_counter()
        with progress(f"compiling {self.name}"):
            artifact = find_or_compile(
                self.key,
                self.name,
                lambda: self.compilation.artifact,
                {self.name: self._buffer_types},
            )
        functions = artifact.load_executables(lambda _: [self.source])
        self._compile_times.append(perf_counter() - start)
        return self.with_code(functions[self.name])

    def with_code(self, function: Executable) -> Compiled:
        """Return the program with machine code for it."""
        return Compiled(function, self._result_groups, self, self.interface)

    def _check_foreign_functions(self) -> None:
        """Report C functions that no library defines, where the program mentions them."""
        for part in subterms_with(self.source, CALLS):
            if isinstance(part, Pattern) and (function := part.spec.foreign) is not None:
                foreign_address(function.library, function.name, part.location)

    def _define_observation_functions(self) -> None:
        """Define the functions that code calls to show values of the program."""
        if self.options.loops == GPU:
            raise LimitationError(
                f"{self.name} contains rl.debug.print or rl.debug.callback, which a GPU cannot "
                "call; run it on the CPU, or with backend='interpret'",
                self.interface.observations[0].location,
            )
        from riselang.native.llvm.observation_callbacks import define_observation_functions

        define_observation_functions()

    @property
    def compile_seconds(self) -> float | None:
        """How long it took to compile the program or to read it from the cache; None before."""
        return self._compile_times[0] if self._compile_times else None

    @property
    def _buffer_types(self) -> list[Buffer]:
        """The buffers that the compiled function takes: those of results, then of inputs."""
        types = (*result_types(self.source.type, self.results), *self.parameter_types)
        return [(lengths, SCALAR_NAMES[leaf]) for type in types for lengths, leaf in leaves(type)]

    @property
    def _result_groups(self) -> Groups:
        types = result_types(self.source.type, self.results)
        return tuple(len(list(leaves(type))) for type in types)

    def empty_results(self) -> Any:
        """Return arrays like the results, whose elements are unspecified."""
        from riselang.interpreter.scalar_semantics import numpy_dtype

        types = result_types(self.source.type, self.results)
        buffers = [
            np.empty([length.constant for length in lengths], numpy_dtype(leaf))
            for type in types
            for lengths, leaf in leaves(type)
        ]
        return pack_results(buffers, self._result_groups, self.interface)

    @with_deep_stack
    def check_sizes(self, sizes: Mapping[str, Nat]) -> None:
        """Raise an error for sizes that a symbolic program does not permit."""
        key = tuple(sorted(sizes.items(), key=lambda item: item[0]))
        if key not in self._checked_sizes:
            check_sizes(self.source, sizes)
            self._checked_sizes.add(key)

    @with_deep_stack
    def interpret(self, arrays: Sequence[Array], sizes: Mapping[str, Nat]) -> Any:
        """Compute the results with the reference interpreter."""
        with hold_forks():
            from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers

        term = substitute_sizes(self.term, sizes)
        parameters, _ = uncurry(term.type)
        inputs = view_inputs(arrays, self.interface.complex_inputs)
        pairs = zip(parameters, (*inputs, *self.interface.captured), strict=True)
        values = [from_buffers(type, [array]) for type, array in pairs]
        with (
            locate_errors(self.source, self.interface),
            recording(self.interface.observations),
            time_span("run"),
        ):
            value = run_term(term, values)
        outputs: list[Array] = []
        types = result_types(term.type, self.results)
        for position, type in enumerate(types):
            part = value
            if position < len(types) - 1:
                part, value = value
            outputs.extend(to_buffers(type, part))
        return pack_results(outputs, self._result_groups, self.interface)
