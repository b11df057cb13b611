"""A C function that runs on a GPU.

A call copies its arrays to the GPU, runs all parts of the function there, and copies back the
arrays that are written; arrays that are on the GPU are used in place. Code is compiled for the
lengths and the integer arguments of a call, and kept for later calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType

from riselang.compiler.compilation import Compilation
from riselang.frontends.c.calling import (
    Arrays,
    CFunction,
    Load,
    ParameterSpec,
    Values,
    check_array,
)
from riselang.frontends.c.emit.bounds_checks import runtime_checks
from riselang.frontends.c.emit.fma_contraction import contract_scop
from riselang.frontends.c.emit.region_functions import build_function, input_type
from riselang.frontends.c.gpu.device_steps import DeviceStep, device_steps
from riselang.frontends.c.gpu.kernel_builder import build_gpu_module
from riselang.frontends.c.lift.call_numbers import evaluate_linear, parameter_numbers
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.schedule.isl_schedule import gpu_loops
from riselang.pipelines import GPU
from riselang.runtime.arrays import Array, DeviceView
from riselang.runtime.device_arrays import device_view, is_on_gpu, to_gpu
from riselang.runtime.executable import Executable
from riselang.support.config import Options
from riselang.support.lazy import cached_property

MAX_PROGRAMS = 64
"""The most combinations of sizes whose code is kept."""
_Key = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""The integer arguments of a call, and the shapes of its arrays."""


class GpuLoops:
    """Loops of a region as kernels, compiled for the sizes of each call."""

    def __init__(self, scop: Scop, options: Options):
        self.scop = scop if options.float == "strict" else contract_scop(scop)
        self._options = options
        self._programs: dict[_Key, Executable] = {}

    @cached_property
    def _function(self) -> Any:
        tree = gpu_loops(self.scop)
        return build_function(self.scop, tree, self.scop.name, is_arranged=False)[0]

    def prepare(self, arrays: Arrays, values: Values) -> Executable:
        """Return the code for the sizes of a call."""
        numbers = tuple(int(values[each]) for each in self._integers(values))
        key = numbers, tuple(arrays[each].shape for each in self._buffers(arrays))
        if key not in self._programs:
            if len(self._programs) >= MAX_PROGRAMS:
                self._programs.clear()
            self._programs[key] = self._compile(arrays, values)
        return self._programs[key]

    def _integers(self, values: Values) -> list[Variable]:
        return [each for each in self.scop.inputs if each in values and _is_size(each)]

    def _buffers(self, arrays: Arrays) -> list[Variable]:
        return [each for each in self.scop.inputs if each in arrays]

    def _compile(self, arrays: Arrays, values: Values) -> Executable:
        scop = self.scop
        shapes = {
            position: self._shape(each, arrays, values)
            for position, each in enumerate(scop.inputs)
            if each in arrays
        }
        integers = {
            position: int(values[each])
            for position, each in enumerate(scop.inputs)
            if each in values and _is_size(each)
        }
        built = build_gpu_module(self._function, shapes, integers)
        if not built.kernels:
            raise UnsupportedConstruct(
                scop.location, f"{scop.name} has no loop whose iterations are independent",
                "run it on the CPU",
            )  # fmt: skip
        options = Options(GPU).with_changes(float=self._options.float)
        return Compilation(built.module, options).functions[scop.name]

    def _shape(self, variable: Variable, arrays: Arrays, values: Values) -> tuple[int, ...]:
        """Return the lengths of an array in the region's view."""
        array, type = arrays[variable], input_type(self.scop, variable)
        assert isinstance(type, MemRefType)
        rank = type.get_num_dims()
        if array.ndim == rank:
            return array.shape
        view = self.scop.views.get(variable)
        numbers = parameter_numbers(Footprints(self.scop), values)
        inner = [
            _extent(each, numbers)
            for each in (view.extents if view is not None else variable.extents)[1:]
        ]
        row = int(np.prod(inner, dtype=np.int64)) if inner else 1
        return (array.size // max(row, 1), *inner) if rank else ()

    def run(self, arrays: Arrays, values: Values) -> Any:
        """Run on arrays that are on the GPU; return the result of the function."""
        program = self.prepare(arrays, values)
        passed = [each for each in self.scop.inputs if each in arrays or not _is_size(each)]
        arguments: list[Any] = [
            arrays[each].view(parameter.dtype).reshape(parameter.shape or ())
            if each in arrays
            else values[each]
            for each, parameter in zip(passed, program.parameters, strict=False)
        ]
        result = None
        if self.scop.result is not None:
            result = np.zeros(1, self.scop.result.type.dtype)
            arguments.append(result)
        program(*arguments)
        return None if result is None else result[0].item()


class GpuFunction(CFunction):
    """A C function whose loops and patterns run on a GPU."""

    def __init__(self, scop: Scop, load: Load, options: Options):
        super().__init__(scop, load)
        refuse_on_gpu(scop)
        self._options = options
        self._whole = GpuLoops(scop, options)

    @cached_property
    def _steps(self) -> Sequence[DeviceStep | GpuLoops]:
        """The parts of the function; one of loops if there are no patterns."""
        steps = device_steps(self._scop, self._options)
        return [
            GpuLoops(step, self._options) if isinstance(step, Scop) else step for step in steps
        ] or [self._whole]

    def _check_array(self, argument: Any, spec: ParameterSpec) -> Array:
        """Return the array of an argument, which may be on the GPU."""
        if not is_on_gpu(argument):
            return super()._check_array(argument, spec)
        return check_array(device_view(argument, spec.variable.name), spec)

    def run(self, passed: Sequence[Any], arrays: Arrays, values: Values) -> Any:
        copies = {
            variable: to_gpu(array)
            for variable, array in arrays.items()
            if not isinstance(array, DeviceView)
        }
        views = {
            variable: device_view(copies[variable], variable.name) if variable in copies else array
            for variable, array in arrays.items()
        }
        steps = self._steps
        if not all(isinstance(step, GpuLoops) or step.is_runnable(views, values) for step in steps):
            steps = [self._whole]
        result = None
        for step in steps:
            result = step.run(views, values)
        for variable, copy in copies.items():
            if variable in self._scop.written_variables:
                arrays[variable][...] = copy.numpy()
        return result


def refuse_on_gpu(scop: Scop) -> None:
    """Report functions that cannot run on a GPU."""
    if scop.schedule is None:
        raise UnsupportedConstruct(
            scop.location, f"{scop.name} has no loops that a GPU can run", "run it on the CPU"
        )
    if runtime_checks(scop):
        raise UnsupportedConstruct(
            scop.location,
            f"{scop.name} has accesses that are checked when it runs, which a GPU does not do",
            "pass checks=False if they are in bounds",
        )
    for variable in scop.inputs:
        if variable.row_pointers or variable.is_strided:
            raise UnsupportedConstruct(
                variable.location,
                f"{variable.name} is not a contiguous array, and only these are copied to a GPU",
                "pass a contiguous array",
            )


def _is_size(variable: Variable) -> bool:
    """Whether code is compiled for the value of a scalar."""
    return not variable.is_array and not variable.type.is_float


def _extent(extent: Any, numbers: Mapping[str, int]) -> int:
    if isinstance(extent, tuple):
        total = 1
        for factor in extent:
            assert isinstance(factor, Linear)
            total *= evaluate_linear(factor, numbers)
        return total
    return int(extent.value)
