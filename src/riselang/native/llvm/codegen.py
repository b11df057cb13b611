"""LLVM: optimize, emit assembly and objects. The only user of llvmlite."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import llvmlite.binding as binding

from riselang.native.llvm import temporary_pool, thread_pool
from riselang.native.llvm.target import Target, tuning
from riselang.native.llvm.wide_stores import divide_wide_stores, has_wide_stores
from riselang.support.errors import InternalError
from riselang.support.forking import acquire_for_forks, hold_forks
from riselang.support.profiling import time_span

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
    return _store_in_order(module, target) if has_wide_stores(ir, target.vector_bits) else module


def _store_in_order(module: Any, target: Target) -> Any:
    """Divide the stores of long vectors, after LLVM has replaced loads of what they store."""
    with time_span("LLVM"), time_span("divide stores"):
        return _parse(divide_wide_stores(str(module), target.vector_bits), target)


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


def jit_object(ir: str, effort: str = "default") -> bytes:
    """Compile LLVM IR to an object file for this machine that `load_objects` can load."""
    with _exclusive_access():
        module, machine = _compile_module(ir, host(), effort, jit=True)
        with time_span("LLVM"), time_span("emit"):
            return bytes(machine.emit_object(module))


def unoptimized_object(ir: str, opt: int) -> bytes:
    """Compile LLVM IR as it is; `opt` is the optimization level of the code generator."""
    with _exclusive_access():
        machine = _target_machine(host(), jit=True, opt=opt)
        return bytes(machine.emit_object(_parse(ir, host())))


@dataclass(frozen=True, eq=False)
class EngineCode:
    """Machine code that LLVM loaded into this process; it is unloaded with this object."""

    engine: Any = field(repr=False)

    def address(self, symbol: str) -> int:
        """Return the address of a symbol; 0 if the code does not define it."""
        return int(self.engine.get_function_address(symbol))


def load_with_llvm(
    objects: Sequence[bytes], symbols: Mapping[str, int], redirected: Mapping[str, int]
) -> EngineCode:
    """Load object files in this process, which LLVM registers with gdb.

    They may call functions at the addresses in `symbols`. Their calls of some functions of the C
    library are redirected to other addresses.
    """
    with _exclusive_access():
        for name, address in symbols.items():
            binding.add_symbol(name, address)
        machine = _target_machine(host(), jit=True)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        if redirected:
            declarations = [temporary_pool.REPLACED_FUNCTIONS[name] for name in redirected]
            module = binding.parse_assembly("\n".join(declarations))
            engine.add_module(module)
            for name, address in redirected.items():
                engine.add_global_mapping(module.get_function(name), address)
        for code in objects:
            engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return EngineCode(engine)
