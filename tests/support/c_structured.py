"""A region of C as structured ops, compiled."""

from __future__ import annotations

from riselang import pipelines
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.calling import CompiledCFunction
from riselang.frontends.c.emit.c_entry_points import format_llvm_entry
from riselang.frontends.c.lift import region_steps
from riselang.frontends.c.model.scop import Scop
from riselang.lowering.noalias import noalias_pointers
from riselang.native import code_loading
from riselang.native.compile_job import Job
from riselang.native.mlir.generic_printer import native_text
from riselang.support.config import Options


def structured_function(scop: Scop) -> CompiledCFunction:
    """A function whose statements are ops of linalg, as far as they can be."""
    program = make_program([scop], Options("affine", "strict"), "isl")
    vars(program)["_trees"] = [region_steps.steps_with_structured_ops(scop, "source")]
    module = program._link_module(is_checked=True)
    pipeline = pipelines.cpu_pipeline(threads=False, structured=True, bf16=False)
    job = Job(native_text(module), pipeline, noalias_pointers(module), format_llvm_entry(scop))
    return CompiledCFunction(
        scop, program._load_functions, code_loading.load_objects([job.object_code()])
    )
