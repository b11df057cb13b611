"""Native MLIR: verify, run passes, translate to LLVM IR. The only module that loads the wheel."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from riselang.native.llvm.ir_text import convert_for_llvmlite
from riselang.pipelines import (
    CALL_INTRINSICS,
    COPY_BY_LOOPS,
    GUIDED_SCHEDULE,
    HIDE_INDICES,
    INLINE_SCOPES,
    KEEP_FOR_FUNCTION,
    KEEP_FOR_THREADS,
    LOCATE_REST,
    PLANNED_PASSES,
    ROUND_EACH,
    RUN_PLANNED,
    TAKE_KERNELS_OUT,
)
from riselang.support.errors import (
    InternalError,
    LimitationError,
    RiseError,
    SourceLocation,
    UserError,
)
from riselang.support.forking import hold_forks, import_logging
from riselang.support.profiling import is_recording, time_span

_DIAGNOSTIC = re.compile(r'error: "(?P<file>[^"]*)":(?P<line>\d+):(?P<column>\d+): (?P<message>.*)')


@contextmanager
def _deep_binding() -> Generator[None]:
    """Make libraries that are loaded here use their own LLVM, even if TensorFlow has another."""
    if "tensorflow" not in sys.modules or not hasattr(os, "RTLD_DEEPBIND"):
        yield
        return
    previous_flags = sys.getdlopenflags()
    sys.setdlopenflags(previous_flags | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(previous_flags)


@cache
def _wheel() -> Any:
    """Import the modules of the wheel, which are untyped, when they are first needed."""
    # Not `torch_mlir.dialects`, which defines unused Python classes for all ops.
    libraries = "torch_mlir._mlir_libs"
    import_logging()  # the wheel imports it
    with hold_forks(), _deep_binding():
        return SimpleNamespace(
            ir=importlib.import_module("torch_mlir.ir"),
            passmanager=importlib.import_module("torch_mlir.passmanager"),
            llvm=importlib.import_module(f"{libraries}._mlirDialectsLLVM"),
            irdl=importlib.import_module(f"{libraries}._mlirDialectsIRDL"),
        )


@cache
def stablehlo_wheel() -> Any:
    """Import the modules for StableHLO, with its struct and enum attributes."""
    wheel = _wheel()
    with hold_forks(), _deep_binding():
        stablehlo: Any = importlib.import_module("torch_mlir._mlir_libs._stablehlo")
    stablehlo.register_stablehlo_passes()
    records = ("Conv", "Dot", "Gather", "Scatter")
    enumerations = (
        "ComparisonDirection", "ComparisonType", "RngAlgorithm", "RngDistribution", "Precision",
        "Transpose", "FftType",
    )  # fmt: skip
    return SimpleNamespace(
        **vars(wheel),
        stablehlo=stablehlo,
        records=[getattr(stablehlo, f"{name}DimensionNumbers") for name in records],
        enumerations=[getattr(stablehlo, f"{name}Attr") for name in enumerations],
    )


@cache
def torch_wheel() -> Any:
    """Import the modules for the torch dialect."""
    wheel = _wheel()
    with _deep_binding():
        torch: Any = importlib.import_module("torch_mlir._mlir_libs._torchMlir")
    return SimpleNamespace(**vars(wheel), torch=torch)


def load_wheel() -> None:
    """Import the wheel now, which takes a while, instead of with the first module."""
    _wheel()


def new_context(types: Sequence[str] | None = None) -> Any:
    """Create a single-threaded context: the threads of a pool would not survive a fork.

    All dialects are loaded, or only those of `types`; the others are loaded when an op is parsed or
    a pass that depends on them runs. Parsing a module with a type loads its dialect without
    importing the Python classes of all its ops.
    """
    ir = _wheel().ir
    context = ir.Context(load_on_create_dialects=None if types is None else ())
    context.enable_multithreading(False)
    for type in types or ():
        ir.Module.parse(f"module attributes {{builtin.type = {type}}} {{}}", context)
    return context


def verify(text: str) -> None:
    """Parse and verify a module with unmodified MLIR."""
    _run_in_context(text, ())


def verify_with_dialects(dialects: str, text: str) -> None:
    """Verify a module with unmodified MLIR, after loading `dialects`, which are in IRDL."""
    with hold_forks(), new_context(), _wheel().ir.Location.unknown():
        _wheel().irdl.load_dialects(_parse(dialects))
        _parse(text)


def run_passes(text: str, pipeline: Sequence[str]) -> str:
    """Return the module after `pipeline`, a list of passes in MLIR's syntax."""
    return str(_run_in_context(text, pipeline))


_OPENMP_OP = re.compile(r'"(omp\.[\w.]+)"\(')
"""An op that only the passes for parallel loops may create: the thread pool has no barriers."""


def to_llvm_ir(text: str, pipeline: Sequence[str]) -> str:
    """Lower a module to the LLVM dialect with `pipeline`, then to LLVM IR for llvmlite."""
    if (match := _OPENMP_OP.search(text)) is not None:
        raise LimitationError(f"'{match[1]}' cannot be compiled; use scf.parallel instead")

    def translate(module: Any) -> str:
        _check_translatable(module.operation)
        with time_span("translate"):
            return convert_for_llvmlite(
                str(_wheel().llvm.translate_module_to_llvmir(module.operation))
            )

    return str(_run_in_context(text, pipeline, translate))


_CREATED = ("!llvm.ptr",)
"""Types of the dialects whose ops the steps implemented here create without parsing any text."""


def _run_in_context(text: str, pipeline: Sequence[str], extract: Any = str) -> Any:
    with time_span("import MLIR"):
        ir = _wheel().ir
    # One context for each compilation: nothing is shared between threads.
    with hold_forks(), time_span("MLIR"), new_context(_CREATED), ir.Location.unknown():
        with time_span("parse"):
            module = _parse(text)
        try:
            for step in _group_steps(pipeline):
                with time_span(step[0].partition("{")[0]):
                    _run_step(step, module.operation)
            # Once, and not after each pass, which would take half of the time in MLIR.
            with time_span("verify"):
                module.operation.verify()
        except (ir.MLIRError, ValueError) as error:
            raise _pass_error(error, pipeline) from None
        return extract(module)


def _group_steps(pipeline: Sequence[str]) -> Iterator[list[str]]:
    """Group the passes that MLIR runs together, between the steps implemented here.

    When times are recorded, each pass is a step of its own.
    """
    for is_own, names in groupby(pipeline, _CUSTOM_STEPS.__contains__):
        if is_own or is_recording():
            yield from ([name] for name in names)
        else:
            yield list(names)


def _run_step(names: Sequence[str], operation: Any) -> None:
    custom_step = _CUSTOM_STEPS.get(names[0])
    if custom_step is not None:
        custom_step(operation)
        return
    manager = _wheel().passmanager.PassManager.parse(f"builtin.module({','.join(names)})")
    manager.enable_verifier(False)
    manager.run(operation)


def _parse(text: str) -> Any:
    """Parse and verify a module in the current context."""
    ir = _wheel().ir
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise _user_error(error) from None


TRANSLATED_DIALECTS = ("llvm.", "omp.", "nvvm.", "rocdl.")


def _check_translatable(module: Any) -> None:
    """Report ops of other dialects, whose translation would crash the process."""
    for inner in _find_ops(module, lambda name: not name.startswith(TRANSLATED_DIALECTS)):
        if inner.name != "builtin.module":
            raise LimitationError(f"{inner.name} cannot be compiled")


def _hoist_allocas_per_thread(operation: Any) -> None:
    """Hoist allocations out of parallel loops, so that each thread allocates once."""
    for loop in _ops_named("omp.wsloop", operation):
        for alloca in _allocas(loop):
            alloca.move_before(loop)
        _hoist_heap_allocations(loop)


def _hoist_heap_allocations(loop: Any) -> None:
    """Hoist the buffers that each iteration of a loop allocates and frees on the heap, if their
    sizes are known before the loop."""
    for allocation in _find_ops(loop, lambda name: name == "memref.alloc", "omp.parallel"):
        uses = [use.owner for use in allocation.results[0].uses]
        frees = [user for user in uses if user.name == "memref.dealloc"]
        is_in_each = all(_is_in_each_iteration(each, loop) for each in (allocation, *frees))
        is_sized = all(_is_defined_outside(size, loop) for size in allocation.operands)
        if len(frees) == 1 and is_in_each and is_sized:
            allocation.move_before(loop)
            frees[0].operation.move_after(loop)


def _is_in_each_iteration(operation: Any, loop: Any) -> bool:
    """Whether each iteration of a loop executes an op in its body exactly once, except iterations
    that do nothing."""
    parent = operation.parent
    while parent.name in ("memref.alloca_scope", "omp.loop_nest") or _has_one_branch(parent):
        parent = parent.parent
    return parent == loop


def _has_one_branch(operation: Any) -> bool:
    return operation.name == "scf.if" and not len(operation.regions[1].blocks)


def _is_defined_outside(value: Any, loop: Any) -> bool:
    owner = value.owner
    # The owner of an argument is its block, which has an owner itself.
    owner = getattr(owner, "owner", owner)
    while owner is not None and owner != loop:
        owner = owner.parent
    return owner is None


def _hoist_allocas_per_function(module: Any) -> None:
    """Hoist allocations out of parallel loops that run in one thread."""
    for function in _functions(module):
        for loop in _ops_named("scf.parallel", function):
            for alloca in _allocas(loop):
                alloca.move_before(_first_op(function))
            _hoist_heap_allocations(loop)


def _first_op(function: Any) -> Any:
    return _find_ops(function, lambda name: True, limit=2)[1]


def _functions(module: Any) -> list[Any]:
    return _find_ops(module, lambda name: name in ("func.func", "llvm.func"))


def _ops_named(name: str, operation: Any) -> list[Any]:
    return _find_ops(operation, lambda each: each == name)


def _find_ops(
    operation: Any, wanted: Callable[[str], bool], closed: str = "", limit: int | None = None
) -> list[Any]:
    """Return the ops with a wanted name in an op, including it, outer ones first.

    Ops inside of `closed` ops are skipped. Unlike iterating over a block, a walk does not create
    op-specific Python objects.
    """
    ops: list[Any] = []
    result = _wheel().ir.WalkResult

    def visit(inner: Any) -> Any:
        if wanted(inner.name):
            ops.append(inner)
        if len(ops) == limit:
            return result.INTERRUPT
        return result.SKIP if inner.name == closed else result.ADVANCE

    operation.walk(visit, _wheel().ir.WalkOrder.PRE_ORDER)
    return ops


def _allocas(operation: Any) -> Iterator[Any]:
    """Return the allocas of static size in an op, except those in inner parallel regions."""
    for alloca in _find_ops(operation, lambda name: name == "memref.alloca", "omp.parallel"):
        if not len(alloca.operands):
            yield alloca


def _inline_alloca_scopes(operation: Any) -> None:
    """Inline `memref.alloca_scope` ops without allocas."""
    for scope in reversed(_ops_named("memref.alloca_scope", operation)):
        if not _ops_named("memref.alloca", scope):
            _inline_scope(scope)


def _inline_scope(scope: Any) -> None:
    *body, end = list(scope.regions[0].blocks[0].operations)
    for inner in body:
        inner.operation.move_before(scope)
    for result, value in zip(scope.results, end.operands, strict=True):
        result.replace_all_uses_with(value)
    scope.erase()


def _run_planned(module: Any) -> None:
    """Run the passes that are planned for each function on that function."""
    for function in _functions(module):
        if PLANNED_PASSES in function.attributes:
            passes = function.attributes[PLANNED_PASSES].value
            manager = _wheel().passmanager.PassManager.parse(f"func.func({passes})")
            manager.run(function)


def _disable_fastmath_conversions(operation: Any) -> None:
    """Disable fast-math for float conversions, so that each of them rounds."""
    exact = _wheel().ir.Attribute.parse("#arith.fastmath<none>")
    for conversion in _find_ops(operation, lambda name: name in ("arith.extf", "arith.truncf")):
        conversion.attributes["fastmath"] = exact


def _use_guided_schedule(operation: Any) -> None:
    """Use guided scheduling for parallel loops."""
    guided = _wheel().ir.Attribute.parse("#omp<schedulekind guided>")
    for loop in _ops_named("omp.wsloop", operation):
        loop.attributes["schedule_kind"] = guided


def _hide_parallel_indices(module: Any) -> None:
    """Compute the indices of parallel loops around other loops by opaque, empty assembly code."""
    for loop in _ops_named("omp.loop_nest", module):
        if _ops_named("scf.for", loop):
            body = loop.regions[0].blocks[0]
            for index in list(body.arguments):
                _hide_index(index, body)


def _hide_index(index: Any, body: Any) -> None:
    ir = _wheel().ir
    create, cast = ir.Operation.create, "builtin.unrealized_conversion_cast"
    code = {"asm_string": ir.StringAttr.get(""), "constraints": ir.StringAttr.get("=r,0")}
    with ir.InsertionPoint.at_block_begin(body):
        integer = create(cast, [ir.IntegerType.get_signless(64)], [index])
        hidden = create("llvm.inline_asm", [integer.result.type], [integer.result], code)
        replacement = create(cast, [index.type], [hidden.result])
    index.replace_all_uses_except(replacement.result, integer)


def _replace_strided_copies(module: Any) -> None:
    """Replace copies from or to strided buffers by loops."""
    for copy in _ops_named("memref.copy", module):
        if any("strided<" in str(each.type) for each in copy.operands):
            _copy_elements(copy)


def _copy_elements(copy: Any) -> None:
    ir = _wheel().ir
    source, _ = copy.operands
    rank, element = source.type.rank, source.type.element_type
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))
    kind = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    with ir.InsertionPoint(copy), copy.location:
        generic = ir.Operation.create(
            "linalg.generic",
            operands=list(copy.operands),
            attributes={
                "indexing_maps": ir.ArrayAttr.get([identity, identity]),
                "iterator_types": ir.ArrayAttr.get([kind] * rank),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
            },
            regions=1,
        )
        block = generic.regions[0].blocks.append(element, element)
        with ir.InsertionPoint(block):
            ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    copy.erase()


def _locate_remaining_ops(module: Any) -> None:
    """Give ops without a location line 0 of their function's file."""
    ir = _wheel().ir
    for function in _functions(module):
        location = function.location
        if not isinstance(location, ir.FileLineColLoc):
            continue
        nowhere = ir.Location.file(location.filename, 0, 0)

        def visit(inner: Any, nowhere: Any = nowhere) -> Any:
            if isinstance(inner.location, ir.UnknownLoc):
                inner.location = nowhere
            return ir.WalkResult.ADVANCE

        function.walk(visit)


def _inline_gpu_modules(module: Any) -> None:
    """Move the contents of a `gpu.module` to the module around it."""
    for kernels in list(_ops_named("gpu.module", module)):
        for inner in list(kernels.regions[0].blocks[0].operations):
            inner.operation.move_before(kernels)
        kernels.erase()


INTRINSICS = {
    "math.sqrt": "sqrt", "math.fma": "fma", "math.absf": "fabs", "math.floor": "floor",
    "math.ceil": "ceil", "math.trunc": "trunc", "math.round": "round",
    "math.roundeven": "roundeven", "math.copysign": "copysign", "arith.minnumf": "minnum",
    "arith.maxnumf": "maxnum",
}  # fmt: skip
"""Ops that every CPU computes exactly, and LLVM's names for them."""


def _call_intrinsics(module: Any) -> None:
    """Replace ops by intrinsic calls, which no pass converts to library calls."""
    ir = _wheel().ir
    for op in _find_ops(module, INTRINSICS.__contains__):
        type = op.results[0].type
        name = f"llvm.{INTRINSICS[op.name]}.{_mangle_type(type)}"
        with op.location, ir.InsertionPoint(op):
            call = ir.Operation.create(
                "llvm.call_intrinsic",
                [type],
                list(op.operands),
                attributes={
                    "intrin": ir.StringAttr.get(name),
                    "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
                    "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(op.operands), 0]),
                },
            )
        op.results[0].replace_all_uses_with(call.results[0])
        op.erase()


def _mangle_type(type: Any) -> str:
    """Format a type as in the name of an intrinsic."""
    text = str(type)
    match = re.fullmatch(r"vector<(\d+)x(\w+)>", text)
    return f"v{match[1]}{match[2]}" if match else text


_CUSTOM_STEPS = {
    CALL_INTRINSICS: _call_intrinsics,
    TAKE_KERNELS_OUT: _inline_gpu_modules,
    KEEP_FOR_FUNCTION: _hoist_allocas_per_function,
    KEEP_FOR_THREADS: _hoist_allocas_per_thread,
    INLINE_SCOPES: _inline_alloca_scopes,
    RUN_PLANNED: _run_planned,
    ROUND_EACH: _disable_fastmath_conversions,
    GUIDED_SCHEDULE: _use_guided_schedule,
    HIDE_INDICES: _hide_parallel_indices,
    LOCATE_REST: _locate_remaining_ops,
    COPY_BY_LOOPS: _replace_strided_copies,
}


def _user_error(error: Exception) -> RiseError:
    """Convert an MLIR error to a user error, with its first diagnostic."""
    text = str(error)
    match = _DIAGNOSTIC.search(text)
    if match is None:
        return UserError(f"MLIR rejects the module: {_first_line(text)}")
    location = SourceLocation(match["file"], int(match["line"]), int(match["column"]))
    return UserError(f"MLIR rejects the module: {match['message']}", location)


def _pass_error(error: Exception, pipeline: Sequence[str]) -> RiseError:
    return InternalError(
        f"MLIR could not lower the module: {_first_line(str(error))}",
        None,
        f"the pipeline was {','.join(pipeline)}",
    )


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    described = [line for line in lines if line.startswith("error:")] or lines
    return described[0] if described else "no reason given"
