"""The program of a model, built when needed: from its module, or from the cache."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from riselang.api.compiled import Compiled
from riselang.frontends.stablehlo.model.argument_binding import (
    BoundCode,
    compile_bound,
    load_bound_code,
    load_main_program,
    store_bound_code,
)
from riselang.frontends.stablehlo.model.origin import (
    DEFAULT_STRATEGY,
    ModelOrigin,
    Signature,
    lower_graph,
)
from riselang.frontends.stablehlo.model.program_metadata import (
    ProgramMetadata,
    decode_metadata,
    encode_metadata,
)
from riselang.frontends.stablehlo.model.stored_arrays import Array, load_arrays, store_arrays
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.pipelines import GPU
from riselang.runtime.array_calls import PreparedCall
from riselang.runtime.cache import KernelCache, default_cache
from riselang.runtime.environment import fingerprint
from riselang.support import config
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.forking import hold_forks
from riselang.support.lazy import cached_property
from riselang.support.progress import progress
from riselang.support.structures import PLAIN_INTERFACE

if TYPE_CHECKING:
    from riselang.api.lowered import Lowered
    from riselang.frontends.stablehlo.lowering import Program
    from riselang.frontends.stablehlo.model.program_kernel import ProgramKernel
    from riselang.native.mlir.stablehlo_graph import GraphFunction
    from riselang.rewrite.core import Strategy

BACKENDS = ("compile", "interpret")


@dataclass(frozen=True)
class BoundProgram:
    """A program in which some arguments are bound."""

    program: Compiled
    inputs: Sequence[Array | None]
    """What it takes: None for the arguments of a call."""

    def fill(self, arguments: Sequence[Any]) -> list[Any]:
        """Return its inputs for the arguments of a call."""
        passed = iter(arguments)
        return [next(passed) if each is None else each for each in self.inputs]


class ModelBody:
    """A program and its machine code."""

    is_split = False
    """Whether it consists of several units."""

    def __init__(
        self,
        origin: ModelOrigin,
        backend: str,
        options: Options,
        strategy: Strategy | str | None = None,
    ):
        """The default strategy may be passed by its name; it is imported when it is needed."""
        if backend not in BACKENDS:
            raise UserError(f"backend must be one of {', '.join(BACKENDS)}, but is {backend!r}")
        self.origin = origin
        self.backend = backend
        self.options = options
        self.strategy = strategy
        self._lock = RLock()
        self._bound_codes: dict[frozenset[int], BoundCode | None] = {}

    def with_graph(self, graph: GraphFunction) -> ModelBody:
        """Set the graph that the module was read as."""
        vars(self)["program"] = lower_graph(graph)
        return self

    @cached_property
    @hold_forks()
    def program(self) -> Program:
        return self.origin.lower_program()

    @property
    def is_cached(self) -> bool:
        """Whether its metadata is in the cache."""
        return self._cached_metadata is not None

    @cached_property
    def kernel(self) -> ProgramKernel:
        from riselang.api.lowered import resolve_strategy
        from riselang.frontends.stablehlo.model.program_kernel import ProgramKernel

        strategy = resolve_strategy(self.strategy)
        return ProgramKernel(self.program, self.backend, self.options, strategy)

    @cached_property
    def signature(self) -> Signature:
        if self._cached_metadata is not None:
            return self._cached_metadata.signature
        return Signature.of(self.program)

    def run(self, arrays: Sequence[Any]) -> Any:
        """Return the results for arguments and constants of the right types."""
        if self.backend == "interpret":
            return self.kernel(*arrays)
        return self._prepared_call(arrays)

    def run_into(self, arrays: Sequence[Any], out: Any) -> None:
        """Write the results to `out`."""
        self.compiled.run_into(arrays, out)

    def bind_arrays(self, fixed: Sequence[Any]) -> PreparedCall | None:
        """Return the rest of a call in which some arrays are bound."""
        return self.compiled.prepare_call_with(fixed)

    def as_text(self, stage: str) -> str:
        """Print the program at a stage; in notation, as it was read."""
        if stage == "notation" and str(self.strategy) == DEFAULT_STRATEGY:
            return repr(self.program.term)
        return self.kernel.lower().as_text(stage)

    def report(self) -> str:
        """Report how each op of the module is compiled."""
        from riselang.frontends.stablehlo.fallback.op_partition import PATTERNS, partition_ops
        from riselang.frontends.stablehlo.model.op_report import format_op_report

        graph = self.origin.read_graph()
        return format_op_report(graph, partition_ops(graph, lambda _: PATTERNS))

    @cached_property
    def _prepared_call(self) -> PreparedCall:
        return self.compiled.prepare_call()

    @cached_property
    def compiled(self) -> Compiled:
        with hold_forks(), self._lock:
            if self._cached_metadata is not None:
                found = _load_compiled(self._cached_metadata)
                if found is not None:
                    return found
            compiled = self._lowered.compile()
            self._store_metadata()
            return compiled

    @cached_property
    def _lowered(self) -> Lowered:
        return self.kernel.lower()

    def bound_code(self, known: frozenset[int]) -> BoundCode | None:
        """Return the code for arguments and constants of which some are bound, by position.

        None if nothing can be computed from them in advance.
        """
        if self.backend != "compile" or not known or self.signature.interface != PLAIN_INTERFACE:
            return None
        with hold_forks(), self._lock:
            if known not in self._bound_codes:
                self._bound_codes[known] = self._compile_bound_code(known)
            return self._bound_codes[known]

    def bound_program(self, bound: Mapping[str, Array]) -> BoundProgram | None:
        """Return the program for some bound arguments; None if nothing can be computed in
        advance."""
        if not bound:
            program = self._stored_program()
            if program is not None:
                return program
        arrays = [*map(bound.get, self.signature.argument_names), *self.constants]
        code = self.bound_code(
            frozenset(position for position, array in enumerate(arrays) if array is not None)
        )
        program = None if code is None else BoundProgram(code.main_program, code.bind(arrays))
        if bound or program is None:
            self.store_constants()
        elif self._code_cache is not None and self.options.loops != GPU:
            inputs = [each for each in program.inputs if each is not None]
            store_arrays(self._code_cache, self._key_of("inputs"), inputs)
        return program

    def _stored_program(self) -> BoundProgram | None:
        """Return the program without bound arguments, as an earlier process stored it: what its
        calls read of the constants, and what is computed from them."""
        if self._cached_metadata is None or self._code_cache is None:
            return None
        count, cache = len(self.signature.arguments), self._code_cache
        constants = range(count, count + len(self.signature.constants))
        arrays = load_arrays(cache, self._key_of("inputs"))
        found = load_main_program(cache, self._key_of("bound", [*constants]))
        if arrays is None or found is None:
            return None
        program, kept = found
        return BoundProgram(program, [*[None for each in kept if each < count], *arrays])

    @cached_property
    def constants(self) -> tuple[Array, ...]:
        if self._cached_metadata is not None and self._code_cache is not None:
            found = load_arrays(self._code_cache, self._key_of("constants"))
            types = self.signature.constants
            if found is not None and [each.shape for each in found] == [t.shape for t in types]:
                return found
        return self.program.constants

    def store_constants(self) -> None:
        """Store the constants for calls that need them all; most need what is computed from
        them."""
        if self._code_cache is not None and not self._code_cache.has(self._key_of("constants")):
            store_arrays(self._code_cache, self._key_of("constants"), self.constants)

    def _compile_bound_code(self, known: frozenset[int]) -> BoundCode | None:
        cache, key = self._code_cache, self._key_of("bound", sorted(known))
        if cache is not None:
            is_there, found = load_bound_code(cache, key)
            if is_there:
                return found
        signature = self.signature
        parameters = len(signature.arguments) + len(signature.constants)
        with progress(f"compiling {signature.name}"):
            made = compile_bound(self._lowered, parameters, known)
        if cache is not None:
            self._store_metadata()
            store_bound_code(cache, key, made)
        return made

    # In the cache, the metadata of a program is found by its module, and its machine code by the
    # metadata.

    @property
    def _code_cache(self) -> KernelCache | None:
        return default_cache() if self._is_cacheable else None

    def _key_of(self, *part: Any) -> str:
        return fingerprint(self._cache_key, *part)

    @cached_property
    def _cache_key(self) -> str:
        origin = self.origin
        return fingerprint(
            "stablehlo", origin.digest, origin.file, origin.function, origin.types,
            self.options, config.num_threads(), str(self.strategy),
        )  # fmt: skip

    @cached_property
    def _cached_metadata(self) -> ProgramMetadata | None:
        """The metadata that another process stored for the same module."""
        cache = self._code_cache
        if cache is None or self.backend != "compile":
            return None
        data = cache.read(self._cache_key)
        return None if data is None else decode_metadata(data)

    @property
    def _is_cacheable(self) -> bool:
        """Whether the machine code depends on the module and the options alone."""
        return self.strategy is None or str(self.strategy) == DEFAULT_STRATEGY

    def _store_metadata(self) -> None:
        cache = self._code_cache
        if cache is not None:
            cache.write(self._cache_key, encode_metadata(self.signature, self._lowered.key))


def _load_compiled(metadata: ProgramMetadata) -> Compiled | None:
    from riselang.runtime.code_cache import find_cached

    signature, function = metadata.signature, metadata.function
    artifact = find_cached(metadata.key, signature.name, {function: None})
    if artifact is None:
        return None
    functions = artifact.load_executables(lambda _: [])
    return Compiled(functions[function], metadata.groups, interface=signature.interface)


def arrays_to_bytes(arrays: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """Serialize arrays as one npz file; types that it does not support are stored as their bits."""
    buffer = io.BytesIO()
    plain = [each.view(np.uint16) if each.dtype.kind == "V" else each for each in arrays]
    named: dict[str, Any] = {str(k): each for k, each in enumerate(plain)}
    np.savez(buffer, allow_pickle=False, **named)
    return buffer.getvalue()


def arrays_from_bytes(data: bytes, elements: Sequence[str]) -> tuple[np.ndarray[Any, Any], ...]:
    with np.load(io.BytesIO(data), allow_pickle=False) as kept:
        return tuple(
            np.ascontiguousarray(kept[str(k)]).view(dtype_of(element))
            if kept[str(k)].ndim
            else kept[str(k)].view(dtype_of(element))
            for k, element in enumerate(elements)
        )
