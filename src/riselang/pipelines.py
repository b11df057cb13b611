"""The pass pipelines, as lists.

`RISE_TO_LOOPS` lists riselang's own passes by name; the others are native MLIR passes in MLIR's
spelling.
"""

from __future__ import annotations

from collections.abc import Sequence

CONTRACT = ("contract-rise-floats",)
"""Runs first, under every float permission except strict."""

GPU = "gpu"
LOOPS = ("affine", "scf", "polyhedral", GPU)
"""The targets of patterns without `{to = ...}`: loops of a dialect, affine loops that MLIR tiles
and vectorizes where that is proved correct, or GPU kernels."""

CHECK_FLOATS = ("check-floats",)
"""A riselang pass for `rl.debug.check_nan`; it runs before the passes that lower math functions."""

APPROXIMATE_MATH = "approximate-math"

EXPAND_SMALL_FLOATS = "expand-small-floats"
"""Computes floats of 8 bits as f32; runs before the passes that lower math functions."""

EXPAND_MATH, MATH_TO_CALLS = "expand-math", "convert-math-to-calls"

MATH = (APPROXIMATE_MATH, EXPAND_MATH, MATH_TO_CALLS)
"""Lowers math functions such as exp: the first pass runs only with `float="relaxed"`, the second
one only for GPUs, and the third one only for CPUs."""

RISE_TO_LOOPS = (
    "convert-rise-to-imperative", "resolve-rise-access", EXPAND_SMALL_FLOATS, *MATH,
)  # fmt: skip
"""riselang's own passes, which every program goes through."""

RAISE_TO_CALLS = ("raise-to-library-calls",)
"""A riselang pass for `library="blas"`; it runs before the passes that transform loops."""

PLAN_POLYHEDRAL = ("plan-polyhedral",)
"""A riselang pass for polyhedral loops; it is the last pass before the MLIR passes."""

SKIP_CHUNKS = ("skip-unchanged-chunks",)
"""A riselang pass for CPUs, before the last one; it splits loops that seldom change a value."""

ALIGN_STORES = ("align-nontemporal-stores",)
"""A riselang pass for CPUs, which can store vectors past their caches only if they are aligned."""

SPLIT_INDICES = ("split-index-sets",)
"""A riselang pass for CPUs, for loops that compare their indices with constants."""

POLL_SIGNALS = ("poll-signals",)
"""riselang's last pass for CPUs; it makes long loops interruptible."""

KEEP_FOR_FUNCTION = "keep-stack-for-function"
"""Not an MLIR pass: `native.mlir` does it. A plain loop does not free the stack memory that an
iteration allocates, so one allocation serves all iterations."""

SEQUENTIAL_PARALLEL = (KEEP_FOR_FUNCTION, "scf-parallel-for-to-nested-fors")
"""Parallel loops on one thread."""

INLINE_SCOPES = "inline-alloca-scopes"
"""Not an MLIR pass: `native.mlir` does it. Bodies of parallel loops are wrapped in alloca scopes;
canonicalize removes a scope without allocations, but not if it contains a call."""

KEEP_FOR_THREADS = "keep-stack-for-threads"
"""Not an MLIR pass: `native.mlir` does it. A thread runs its iterations sequentially, so one stack
allocation serves them all."""

GUIDED_SCHEDULE = "share-out-iterations"
"""Not an MLIR pass: `native.mlir` does it. It selects guided scheduling, so that a thread whose
core is busy takes fewer iterations."""

HIDE_INDICES = "hide-parallel-indices"
"""Not an MLIR pass: `native.mlir` does it. It hides from LLVM that the index of a parallel loop
around other loops increases by one. A thread computes addresses from the index once for each
iteration; LLVM's strength reduction, which would replace this by additions, takes up to half of the
time to emit code for nested loops."""

OPENMP_PARALLEL = (
    "convert-scf-to-openmp", "canonicalize", KEEP_FOR_THREADS, INLINE_SCOPES, GUIDED_SCHEDULE,
    HIDE_INDICES,
)  # fmt: skip
"""Parallel loops in several threads. MLIR translates them to OpenMP calls, which `native.llvm`
replaces with calls to its thread pool."""

ROUND_EACH = "round-each-result"
"""Not an MLIR pass: `native.mlir` does it. MLIR's emulation marks its roundings as removable where
the result is extended again; this keeps them."""

BF16_AS_F32 = (
    "math-extend-to-supported-types{target-type=f32 extra-types=f16}",
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    ROUND_EACH,
)
"""bf16 computed in f32, and rounded after each operation."""
EXACT_BF16 = (*BF16_AS_F32, "arith-expand{include-bf16=true}")
"""bf16 computed in f32 and rounded to nearest even by integer ops.

Otherwise LLVM narrows the operations again, and its AArch64 back end rounds them toward zero.
"""

COPY_BY_LOOPS = "copy-by-loops"
"""Not an MLIR pass: `native.mlir` does it. MLIR lowers a copy from or to a part of a buffer to a
call to a runtime library that riselang does not link."""

STRUCTURED = (
    "one-shot-bufferize",
    "func.func(promote-buffers-to-stack{max-alloc-size-in-bytes=65536})",
    COPY_BY_LOOPS,
    "convert-linalg-to-loops",
)
"""Tensors become buffers on the stack, and structured ops become loops."""

STABLEHLO_TO_LINALG = (
    "func.func(stablehlo-complex-math-expander)",
    "stablehlo-legalize-to-linalg",
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)
"""For ops that do not become patterns; their functions take and fill buffers."""

LINALG = (
    "one-shot-bufferize",
    "func.func(promote-buffers-to-stack{max-alloc-size-in-bytes=65536})",
    "ownership-based-buffer-deallocation",
    "canonicalize",
    "buffer-deallocation-simplification",
    "bufferization-lower-deallocations",
    COPY_BY_LOOPS,
    "convert-linalg-to-loops",
    "convert-complex-to-standard",
    "math-extend-to-supported-types{target-type=f32 extra-types=f16}",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-complex-to-llvm",
)
"""Runs before `cpu`: tensors become buffers that are freed, structured ops become loops, and
complex numbers become pairs."""

PLANNED_PASSES = "rise.passes"
"""The attribute that lists the passes that run on one function alone."""

RUN_PLANNED = "run-planned-passes"
"""Not an MLIR pass: `native.mlir` runs the passes that each function's attribute lists."""


def polyhedral_passes(tile_sizes: Sequence[int] | None, lanes: int | None) -> tuple[str, ...]:
    """Return the passes for one function; `plan-polyhedral` has proven their preconditions.

    Tiling comes first, since the tile sizes are for the original loops.
    """
    sizes = ",".join(map(str, tile_sizes or ()))
    return (
        *((f"affine-loop-tile{{tile-sizes={sizes}}}",) if sizes else ()),
        "canonicalize",
        "affine-scalrep",
        *((f"affine-super-vectorize{{virtual-vector-size={lanes} test-fastest-varying=0}}",)
          if lanes else ()),
    )  # fmt: skip


FUNCTIONS_TO_LLVM = "convert-func-to-llvm"
TO_LLVM = (
    "convert-scf-to-cf",
    "convert-math-to-llvm",
    "convert-vector-to-llvm",
    "finalize-memref-to-llvm{use-aligned-alloc=true}",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "convert-ub-to-llvm",
    FUNCTIONS_TO_LLVM,
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)


def _with_bare_pointers(name: str) -> str:
    return f"{name}{{use-bare-ptr-memref-call-conv=1}}" if name == FUNCTIONS_TO_LLVM else name


POLYHEDRAL = (
    RUN_PLANNED,
    "func.func(convert-vector-to-scf{full-unroll=true})",
)
"""Runs before all others, where functions have planned passes."""


LOCATE_REST = "locate-rest"
"""Not an MLIR pass: `native.mlir` does it. LLVM rejects calls without a location in functions with
debug info."""

LINE_TABLES = (
    LOCATE_REST,
    "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}",
)
"""Runs last, for debug info."""


def cpu_pipeline(
    *,
    threads: bool,
    structured: bool = False,
    polyhedral: bool = False,
    bf16: bool = True,
    debug_info: bool = False,
    has_descriptors: bool = True,
) -> tuple[str, ...]:
    """Lower affine, scf and memref to the LLVM dialect; with `structured`, linalg and tensor, too.

    Without descriptors, functions take a bare pointer for each buffer.
    """
    *to_llvm, last = TO_LLVM if has_descriptors else map(_with_bare_pointers, TO_LLVM)
    return (
        *(POLYHEDRAL if polyhedral else ()),
        *(STRUCTURED if structured else ()),
        "canonicalize",
        "cse",
        "lower-affine",
        *(OPENMP_PARALLEL if threads else SEQUENTIAL_PARALLEL),
        "expand-strided-metadata",
        "lower-affine",
        *(EXACT_BF16 if bf16 else ()),
        *to_llvm,
        *(("convert-openmp-to-llvm",) if threads else ()),
        last,
        *(LINE_TABLES if debug_info else ()),
    )


OUTLINE_KERNELS = ("outline-gpu-kernels",)
"""riselang's own, for GPUs: runs after all others."""

CALL_INTRINSICS = "call-intrinsics"
"""Not an MLIR pass: `native.mlir` does it. The conversion to NVVM would call a library for
functions such as sqrt, which the GPU has instructions for."""

TAKE_KERNELS_OUT = "take-kernels-out"
"""Not an MLIR pass: `native.mlir` does it. Only a plain module can be translated to LLVM IR."""


NVIDIA, AMD = "nvvm", "rocdl"
"""The dialects with the instructions of NVIDIA's and AMD's GPUs."""


def gpu_pipeline(
    *, bf16: bool = True, dialect: str = NVIDIA, rounds_to_bf16: bool = False
) -> tuple[str, ...]:
    """Lower kernels in scf and memref to the LLVM dialect; no host code remains.

    If the GPU `rounds_to_bf16`, conversions of f32 to bf16 remain.
    """
    conversions = BF16_AS_F32 if rounds_to_bf16 else EXACT_BF16
    inside = (
        "convert-scf-to-cf",
        "expand-strided-metadata",
        "convert-math-to-llvm",
        "convert-vector-to-llvm",
        f"convert-gpu-to-{dialect}{{use-bare-ptr-memref-call-conv=1}}",
    )
    return (
        "canonicalize",
        "cse",
        "lower-affine",
        *(conversions if bf16 else ()),
        CALL_INTRINSICS,
        f"gpu.module({','.join(inside)})",
        TAKE_KERNELS_OUT,
        "convert-func-to-llvm",
        "canonicalize",
        "reconcile-unrealized-casts",
    )
