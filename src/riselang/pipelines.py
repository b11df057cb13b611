"""Every pipeline as a visible list.

`RISE_TO_LOOPS` are our passes, by name; the others are passes of native MLIR in its own spelling.
"""

from __future__ import annotations

from collections.abc import Sequence

CONTRACT = ("contract-rise-floats",)
"""First, under every float permission but strict."""

GPU = "gpu"
LOOPS = ("affine", "scf", "polyhedral", GPU)
"""What patterns that do not say `{to = ...}` become: loops of a dialect, affine loops that MLIR
tiles and vectorises where that is proven to be right, or kernels of a GPU."""

APPROXIMATE = "approximate-math"

CALLS = "convert-math-to-calls"

MATH = (APPROXIMATE, CALLS)
"""What becomes of exp and its kind; the first only for relaxed floats."""

RISE_TO_LOOPS = ("convert-rise-to-imperative", "resolve-rise-access", *MATH)
"""Ours."""

RAISE = ("raise-to-library-calls",)
"""Ours, for `library="blas"`: before all that makes loops into other loops."""

PLAN_POLYHEDRAL = ("plan-polyhedral",)
"""Ours, too, for polyhedral loops: the last pass before those of MLIR."""

POLL = ("poll-signals",)
"""Ours, the last for a CPU: long loops can be interrupted."""

KEEP_FOR_FUNCTION = "keep-stack-for-function"
"""Not a pass of MLIR: `native.mlir` does it. A plain loop does not give back the stack memory that
an iteration takes, but one piece serves all iterations."""

SEQUENTIAL_PARALLEL = (KEEP_FOR_FUNCTION, "scf-parallel-for-to-nested-fors")
"""Parallel loops on one thread, where there is no OpenMP runtime."""

INLINE_SCOPES = "inline-alloca-scopes"
"""Not a pass of MLIR: `native.mlir` does it. Bodies of parallel loops stand in scopes for stack
memory; canonicalize removes those it knows to be empty, but not where there is a call."""

KEEP_FOR_THREADS = "keep-stack-for-threads"
"""Not a pass of MLIR: `native.mlir` does it. Iterations that a thread runs come one after the
other, so that one piece of stack memory serves them all."""

SHARE_OUT = "share-out-iterations"
"""Not a pass of MLIR: `native.mlir` does it. Threads take iterations in portions that get smaller,
so that one whose core is busy with something else takes fewer."""

OPENMP_PARALLEL = (
    "convert-scf-to-openmp", "canonicalize", KEEP_FOR_THREADS, INLINE_SCOPES, SHARE_OUT,
)  # fmt: skip
"""Parallel loops on threads."""

ROUND_EACH = "round-each-result"
"""Not a pass of MLIR: `native.mlir` does it. Emulation marks its roundings as ones that may be left
out where the result is widened again."""

EXACT_BF16 = (
    "math-extend-to-supported-types{target-type=f32 extra-types=f16}",
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    ROUND_EACH,
    "arith-expand{include-bf16=true}",
)
"""bf16 computed in f32 and rounded to nearest even by integer ops.

LLVM would narrow the operations again, and its AArch64 back end then rounds them towards zero.
"""

COPY_BY_LOOPS = "copy-by-loops"
"""Not a pass of MLIR: `native.mlir` does it. A copy from or to a part of a buffer would become a
call of a library that is not there."""

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
"""For ops that do not become patterns, in functions between buffers."""

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
"""Before those of `cpu`: tensors become buffers that are given back, structured ops become loops,
and complex numbers pairs."""

PLANNED = "rise.passes"
"""The attribute of a function with the passes that it alone gets."""

RUN_PLANNED = "run-planned-passes"
"""Not a pass of MLIR: `native.mlir` runs the passes that each function has been given."""


def polyhedral(tile_sizes: Sequence[int] | None, lanes: int | None) -> tuple[str, ...]:
    """Passes for one function, whose preconditions are proven by `plan-polyhedral`.

    Tiling is the first, since the sizes are those of the loops as they are.
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
    FUNCTIONS_TO_LLVM,
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)


def _with_pointers(name: str) -> str:
    return f"{name}{{use-bare-ptr-memref-call-conv=1}}" if name == FUNCTIONS_TO_LLVM else name


POLYHEDRAL = (
    RUN_PLANNED,
    "func.func(convert-vector-to-scf{full-unroll=true})",
    "convert-ub-to-llvm",
)
"""Before all others, where functions have passes of their own."""


LOCATE_REST = "locate-rest"
"""Not a pass of MLIR: `native.mlir` does it. LLVM refuses calls without a place in functions that
have one."""

LINE_TABLES = (
    LOCATE_REST,
    "ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly}",
)
"""Last, for debug info."""


def cpu(
    *,
    threads: bool,
    structured: bool = False,
    polyhedral: bool = False,
    bf16: bool = True,
    debug_info: bool = False,
    has_descriptors: bool = True,
) -> tuple[str, ...]:
    """From affine, scf and memref to the LLVM dialect; `structured` for linalg and tensor, too.

    Without descriptors, functions take a pointer for each buffer.
    """
    *to_llvm, last = TO_LLVM if has_descriptors else map(_with_pointers, TO_LLVM)
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
"""Ours, for a GPU: after all others."""

CALL_INTRINSICS = "call-intrinsics"
"""Not a pass of MLIR: `native.mlir` does it. The conversion of kernels would call a library for
sqrt and its kind, which the GPU computes itself."""

TAKE_KERNELS_OUT = "take-kernels-out"
"""Not a pass of MLIR: `native.mlir` does it. Only what stands in a plain module can be translated
to LLVM IR."""


def gpu(*, bf16: bool = True) -> tuple[str, ...]:
    """From kernels of scf and memref to the LLVM dialect; no host code is left."""
    inside = (
        "convert-scf-to-cf",
        "expand-strided-metadata",
        "convert-math-to-llvm",
        "convert-vector-to-llvm",
        "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1}",
    )
    return (
        "canonicalize",
        "cse",
        "lower-affine",
        *(EXACT_BF16 if bf16 else ()),
        CALL_INTRINSICS,
        f"gpu.module({','.join(inside)})",
        TAKE_KERNELS_OUT,
        "convert-func-to-llvm",
        "canonicalize",
        "reconcile-unrealized-casts",
    )
