"""LLVM: optimize, emit assembly and objects, load into the process. The only user of llvmlite."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import llvmlite.binding as binding

from riselang.native.debug_info.object_file import Symbols, is_elf64, read_symbols
from riselang.native.llvm import array_calls, guard, temporary_pool, thread_pool
from riselang.native.llvm.entry_points import GUARDED_PREFIX
from riselang.native.llvm.wide_stores import divide_wide_stores
from riselang.support.errors import InternalError, MissingSymbolsError
from riselang.support.foreign_libraries import SYMBOL_PREFIX, foreign_address
from riselang.support.forking import acquire_for_forks, hold_forks
from riselang.support.machine import permit_amx, this_machine
from riselang.support.profiling import time_span

DEBUG_LINE_SECTION = b".debug_line"
"""The section that every object with debug info has."""
PTX_TRIPLE = "nvptx64-nvidia-cuda"
AMD_TRIPLE = "amdgcn-amd-amdhsa"
_LOCK = threading.Lock()
"""llvmlite's global state (targets, symbols) is not thread-safe."""


@contextmanager
def _exclusive_access() -> Generator[None]:
    """Keep other threads from calling LLVM or forking the process."""
    with hold_forks(), _LOCK:
        yield


def _hold_bindings() -> None:
    """Acquire llvmlite's own lock, which other libraries and finalizers use."""
    binding.ffi.lib._lock.__enter__()  # pyright: ignore[reportPrivateUsage]


def _release_bindings() -> None:
    binding.ffi.lib._lock.__exit__(None, None, None)  # pyright: ignore[reportPrivateUsage]


acquire_for_forks(_hold_bindings, _release_bindings)


@dataclass(frozen=True)
class Target:
    """The target to compile for."""

    triple: str
    cpu: str
    features: str

    @property
    def vector_bits(self) -> int | None:
        """The size of a vector register; None if the features do not tell."""
        if self.triple.startswith(("aarch64", "arm64")):
            return 128
        features = self.features.split(",")
        sizes = {"+avx512f": 512, "+avx": 256, "+sse2": 128}
        return next((bits for name, bits in sizes.items() if name in features), None)


FLUSHING_FEATURES = ("avx512bf16", "avxneconvert")
"""Features whose conversions from f32 to bf16 flush subnormal numbers to zero."""


@cache
def host() -> Target:
    """Return this machine as a target, with its full vector width."""
    features = binding.get_host_cpu_features()
    flags = features.flatten() if features else ""
    if features.get("avx512f"):
        # By default, LLVM prefers half-width vectors on these CPUs.
        flags = f"{flags},-prefer-256-bit"
    for feature in FLUSHING_FEATURES:
        if features.get(feature):
            flags = f"{flags},-{feature}"
    return Target(binding.get_process_triple(), binding.get_host_cpu_name(), flags)


def tuning(target: Target) -> str:
    """Return the features by which LLVM selects instructions for speed alone.

    They are not part of the target: code that was tuned otherwise runs, too.
    """
    if not target.triple.startswith("x86_64") or this_machine().gather_speedup >= 1:
        return ""
    return "+prefer-no-gather"


def version() -> str:
    """Return the version of LLVM."""
    return ".".join(map(str, binding.llvm_version_info))


def vector_bits() -> int:
    """Return the vector width of this machine in bits."""
    return host().vector_bits or 128


@cache
def _initialize_targets() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if binding.get_process_triple().startswith("x86_64"):
        # LLVM would load constants in each iteration of a loop that may not run and has more of
        # them than registers; loaded before the loop, the rest are operands on the stack.
        binding.set_option("riselang", "-avoid-speculation=false")


def _target_machine(target: Target, jit: bool, opt: int = 3) -> Any:
    _initialize_targets()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=",".join(filter(None, (target.features, tuning(target)))),
        opt=opt,
        jit=jit,
        reloc="default" if jit else "pic",
    )


def _parse(ir: str, target: Target) -> Any:
    try:
        module = binding.parse_assembly(ir)
        module.triple = target.triple
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM rejects the generated code: {error}") from None
    return module


@cache
def float_conversions() -> str:
    """Return the LLVM IR of the functions that LLVM calls to convert 16-bit floats."""
    return resources.files("riselang.native.llvm").joinpath("float_conversions.ll").read_text()


def uses_amx(ir: str) -> bool:
    """Whether code uses AMX tiles, for which Linux requires a permission."""
    return "@llvm.x86.ldtilecfg" in ir


@cache
def amx_permission() -> str:
    """Return the LLVM IR of a constructor that asks for the permission to use AMX tiles."""
    return resources.files("riselang.native.llvm").joinpath("amx.ll").read_text()


@dataclass(frozen=True)
class Effort:
    """How much LLVM optimizes."""

    level: int
    """The optimization level, as in -O3."""
    vectorizes: bool


EFFORTS = {
    "fast": Effort(1, vectorizes=False),
    "default": Effort(3, vectorizes=True),
    "max": Effort(3, vectorizes=True),
}
"""The limits on unrolled loops also depend on the effort: see `short_loops`."""


def _optimize_module(
    ir: str, target: Target, machine: Any, effort: Effort, library: str = ""
) -> Any:
    """Return an optimized module, with the functions of `library`, which is LLVM IR, too."""
    with time_span("LLVM"), time_span("parse"):
        if target.vector_bits is not None:
            ir = divide_wide_stores(ir, target.vector_bits)
        module = _parse(ir, target)
        if library:
            module.link_in(_parse(library, target))
    module.data_layout = str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=effort.level)
    options.loop_vectorization = effort.vectorizes
    options.slp_vectorization = effort.vectorizes
    # Only marked loops are unrolled: see `short_loops`.
    options.loop_unrolling = False
    builder = binding.create_pass_builder(machine, options)
    with time_span("LLVM"), time_span("optimize"):
        builder.getModulePassManager().run(module, builder)
    return module


def _compile_module(
    ir: str, target: Target, effort: str, *, jit: bool, library: str = ""
) -> tuple[Any, Any]:
    """Optimize a module; return it and the target machine that emits code for it."""
    settings = EFFORTS[effort]
    machine = _target_machine(target, jit, settings.level)
    return _optimize_module(ir, target, machine, settings, library), machine


def optimize(ir: str, effort: str = "default", target: Target | None = None) -> str:
    """Return LLVM IR, optimized for the target."""
    with _exclusive_access():
        return str(_compile_module(ir, target or host(), effort, jit=True)[0])


def assembly(ir: str, effort: str = "default", target: Target | None = None) -> str:
    with _exclusive_access():
        module, machine = _compile_module(ir, target or host(), effort, jit=True)
        with time_span("LLVM"), time_span("emit"):
            return str(machine.emit_assembly(module))


def object_code(ir: str, effort: str = "default", target: Target | None = None) -> bytes:
    """Compile LLVM IR to an object file that can be linked, with the threads that it needs."""
    library = thread_pool.linked_pool_ir() if thread_pool.needs_pool(ir.encode()) else ""
    with _exclusive_access():
        module, machine = _compile_module(ir, target or host(), effort, jit=False, library=library)
        with time_span("LLVM"), time_span("emit"):
            return bytes(machine.emit_object(module))


def ptx(ir: str, chip: str, version: str, effort: str = "default") -> str:
    """Compile kernels to a version of PTX, which the NVIDIA driver compiles to machine code."""
    return _kernel_assembly(ir, Target(PTX_TRIPLE, chip, version), effort)


def amd_assembly(ir: str, chip: str, effort: str = "default") -> str:
    """Compile kernels to assembly for an AMD GPU."""
    return _kernel_assembly(ir, Target(AMD_TRIPLE, chip, ""), effort)


def _kernel_assembly(ir: str, target: Target, effort: str) -> str:
    with _exclusive_access():
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        module, machine = _compile_module(ir, target, effort, jit=False)
        with time_span("LLVM"), time_span("emit"):
            return str(machine.emit_assembly(module))


@dataclass
class LoadedCode:
    """Machine code in this process; it is unloaded with this object."""

    engine: Any = field(repr=False)

    def address(self, symbol: str) -> int:
        return int(self.engine.get_function_address(symbol))


def jit_object(ir: str, effort: str = "default") -> bytes:
    """Compile LLVM IR to an object file for this machine that `load_objects` can load."""
    with _exclusive_access():
        module, machine = _compile_module(ir, host(), effort, jit=True)
        with time_span("LLVM"), time_span("emit"):
            return bytes(machine.emit_object(module))


def load_objects(objects: Sequence[bytes]) -> LoadedCode:
    """Load object files that `jit_object` emitted, in this process or another."""
    with _exclusive_access():
        machine = _target_machine(host(), jit=True)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        if any(map(temporary_pool.is_pool_used, objects)):
            _redirect_functions(engine, temporary_pool.REPLACED_FUNCTIONS, _runtime_functions())
        elif any(GUARDED_PREFIX.encode() in code for code in objects):
            # Define the functions that end a call early: see `guard`.
            _runtime_functions()
        if any(map(thread_pool.needs_pool, objects)):
            thread_pool.set_thread_count(_thread_functions().address)
        _check_symbols(objects)
        permit_amx()
        for code in objects:
            # The engine registers the code with gdb.
            engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        loaded = LoadedCode(engine)
        for code in objects:
            if DEBUG_LINE_SECTION in code:
                # Imported only here, since most code has no debug info.
                from riselang.native.debug_info import perf_map

                perf_map.record_code(code, loaded.address)
        return loaded


def _check_symbols(objects: Sequence[bytes]) -> None:
    """Raise an error if symbols are undefined; calls to them would jump to address 0."""
    missing = _undefined_symbols([read_symbols(code) for code in objects if is_elf64(code)])
    if missing:
        raise MissingSymbolsError(missing)


def _define_foreign_functions(symbols: Sequence[Symbols]) -> None:
    """Make the C functions that objects call known, by the names of their symbols."""
    needed = {name for each in symbols for name in each.needed if name.startswith(SYMBOL_PREFIX)}
    if not needed:
        return
    from riselang.dialects.rise.foreign_functions import split_symbol

    for name in sorted(needed):
        function = split_symbol(name)
        if function is not None:
            binding.add_symbol(name, foreign_address(function.library, function.name))


def _undefined_symbols(symbols: Sequence[Symbols]) -> list[str]:
    """Return the symbols that objects need and that nothing in this process defines."""
    _define_foreign_functions(symbols)
    defined = {name for each in symbols for name in each.defined}
    undefined = {name for each in symbols for name in each.needed} - defined - _LOADER_SYMBOLS
    return [
        name
        for name in sorted(undefined)
        if binding.address_of_symbol(name) is None and not hasattr(_process_symbols(), name)
    ]


@cache
def _runtime_functions() -> LoadedCode:
    """Return the functions that pool memory and end calls early, shared by all loaded code."""
    text = temporary_pool.pool_ir()
    if guard.IS_SUPPORTED:
        text = "\n".join([text, guard.guard_ir()])
        for name in guard.PYTHON_FUNCTIONS:
            _add_python_function(name)
    # Unoptimized: compiled in a few milliseconds, and called once for each temporary.
    engine = _load_functions(text, opt=0)
    loaded = LoadedCode(engine)
    if guard.IS_SUPPORTED:
        guard.start_guard(loaded.address)
        for name in (*guard.FUNCTIONS, *guard.POOL_FUNCTIONS):
            binding.add_symbol(name, loaded.address(name))
    return loaded


@cache
def _thread_functions() -> LoadedCode:
    """Return the thread pool that all loaded code shares; its workers never end."""
    _runtime_functions()
    loaded = LoadedCode(_load_functions(thread_pool.pool_ir(), opt=2))
    for name in thread_pool.FUNCTIONS:
        binding.add_symbol(name, loaded.address(name))
    return loaded


@cache
def array_call_functions(new_array: int) -> LoadedCode:
    """Return the function that calls compiled code with arrays, given `PyArray_NewFromDescr`."""
    with _exclusive_access():
        for name in array_calls.PYTHON_FUNCTIONS:
            _add_python_function(name)
        binding.add_symbol(array_calls.NEW_ARRAY, new_array)
        # Unoptimized: compiled in ten milliseconds, four times as fast as with optimizations.
        return LoadedCode(_load_functions(array_calls.array_call_ir(), opt=0))


def _load_functions(ir: str, opt: int) -> Any:
    """Return an engine with functions that all kernels share; each process loads them."""
    machine = _target_machine(host(), jit=True, opt=opt)
    code = _shared_code[-1](f"{opt}\n{ir}", lambda: bytes(machine.emit_object(_parse(ir, host()))))
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


SharedCode = Callable[[str, Callable[[], bytes]], bytes]
"""Returns the object code for a text: from a cache, or by compiling it."""


def cache_shared_code(find: SharedCode) -> None:
    """Use a cache for the functions that all kernels share."""
    _shared_code.append(find)


_shared_code: list[SharedCode] = [lambda _, compile: compile()]


def _add_python_function(name: str) -> None:
    """Make a function of Python's C API known to loaded code."""
    function = getattr(ctypes.pythonapi, name)
    binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def _redirect_functions(engine: Any, declarations: Mapping[str, str], code: LoadedCode) -> None:
    """Redirect an engine's calls to the declared functions to their `rise_` versions in `code`."""
    module = binding.parse_assembly("\n".join(declarations.values()))
    engine.add_module(module)
    for name in declarations:
        engine.add_global_mapping(module.get_function(name), code.address(f"rise_{name}"))


def check_objects(objects: Sequence[bytes], functions: Collection[str]) -> None:
    """Check object files from disk, since LLVM does not; raise ValueError if one is invalid.

    They must define these functions, and this process must define all symbols that they need.
    """
    triple = host().triple
    if "linux" not in triple:
        return
    symbols = [read_symbols(code, triple.partition("-")[0]) for code in objects]
    defined = {name for each in symbols for name in each.defined}
    missing = [name for name in functions if name not in defined]
    with _exclusive_access():
        missing += _undefined_symbols(symbols)
    if missing:
        raise ValueError(f"there is no {missing[0]}")


@cache
def _process_symbols() -> ctypes.CDLL:
    """Return a handle for all symbols that are loaded into this process."""
    return ctypes.CDLL(None)


_LOADER_SYMBOLS = frozenset({"_GLOBAL_OFFSET_TABLE_", *guard.FUNCTIONS, *thread_pool.FUNCTIONS})
"""Symbols that are not defined until code is loaded."""


def add_symbol(name: str, address: int) -> None:
    """Make a function known to loaded code by name."""
    with _exclusive_access():
        binding.add_symbol(name, address)
