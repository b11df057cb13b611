"""Partition a module into independent parts, which are compiled in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from riselang.compiler.lowered_module import LoweredModule
from riselang.compiler.program_sources import ModuleSource, Source
from riselang.dialects.module import walk
from riselang.native.compile_job import Job
from riselang.native.workers.worker_pool import MIN_FUNCTIONS_FOR_WORKERS, compile_jobs
from riselang.runtime.artifact import Artifact
from riselang.support import config

PARTS_PER_PROCESS = 8
"""More than one, to balance the load."""


Part = list[FuncOp]


def partition_source(source: Source) -> list[ModuleSource]:
    """Partition a module; each part has the declarations it needs. Empty for a small module or a
    term."""
    if not isinstance(source, ModuleSource) or source.selected_ops is not None:
        return []
    return [ModuleSource(source.module, part) for part in partition_module(source.module)]


def compile_parts(
    parts: Sequence[ModuleSource],
    lower: Callable[[ModuleSource], LoweredModule],
    emit: Callable[[LoweredModule], Job],
) -> Artifact:
    """Compile parts in several processes, while this one lowers the next parts."""
    modules: list[LoweredModule] = []

    def jobs() -> Iterator[Job]:
        for part in parts:
            modules.append(lower(part))
            yield emit(modules[-1])

    objects = compile_jobs(jobs(), config.jobs())
    functions = [function for lowered in modules for function in lowered.functions]
    libraries = dict.fromkeys(name for lowered in modules for name in lowered.libraries)
    return Artifact(tuple(functions), tuple(objects), tuple(libraries))


def partition_module(module: ModuleOp) -> list[Part]:
    """Partition the functions of a module."""
    ops = list(module.ops)
    functions = [op for op in ops if isinstance(op, FuncOp)]
    if config.jobs() < 2 or len(functions) < MIN_FUNCTIONS_FOR_WORKERS or len(functions) < len(ops):
        return []
    groups = _call_groups([function for function in functions if not function.is_declaration])
    size = max(1, len(functions) // (config.jobs() * PARTS_PER_PROCESS))
    declared = {each.sym_name.data: each for each in functions if each.is_declaration}
    return [[*part, *_called_declarations(part, declared)] for part in _merge_groups(groups, size)]


def _call_groups(functions: list[FuncOp]) -> list[list[FuncOp]]:
    """Group functions that call each other."""
    by_name = {function.sym_name.data: function for function in functions}
    group = {name: {name} for name in by_name}
    for name, function in by_name.items():
        for callee in sorted(_callees(function)):
            if callee in group and group[callee] is not group[name]:
                union = group[name] | group[callee]
                group.update(dict.fromkeys(union, union))
    visited: set[int] = set()
    groups: list[list[FuncOp]] = []
    for name in by_name:
        if id(group[name]) not in visited:
            visited.add(id(group[name]))
            groups.append(
                [function for member, function in by_name.items() if member in group[name]]
            )
    return groups


def _merge_groups(groups: list[list[FuncOp]], size: int) -> Iterator[list[FuncOp]]:
    part: list[FuncOp] = []
    for group in groups:
        part += group
        if len(part) >= size:
            yield part
            part = []
    if part:
        yield part


def _called_declarations(part: Part, declared: Mapping[str, FuncOp]) -> list[FuncOp]:
    callees = {name for function in part for name in _callees(function)}
    return [function for name, function in declared.items() if name in callees]


def _callees(function: FuncOp) -> set[str]:
    return {op.callee.root_reference.data for op in walk(function) if isinstance(op, CallOp)}
