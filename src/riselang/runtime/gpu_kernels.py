"""Run GPU programs: copy arrays to the GPU, launch kernels, and copy the results back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from typing import Any

from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.native import cuda
from riselang.runtime.device_arrays import ALIGNMENT
from riselang.runtime.executable import Parameter, scalar_kind
from riselang.runtime.launches import (
    Allocate,
    HostPlan,
    Kernels,
    Launch,
    Repeat,
    Step,
)
from riselang.support.errors import InternalError


class KernelCode:
    """Kernels that are loaded on this machine's GPU."""

    def __init__(self, kernels: Kernels):
        self._plans = {plan.function: plan for plan in kernels.plans}
        self._module = cuda.driver().load(kernels.ptx)

    def address(self, symbol: str) -> int:
        raise InternalError(f"{symbol} is a GPU program, which has no address")

    def program(self, name: str, parameters: Sequence[Parameter], failure: int) -> HostProgram:
        """Return a program of addresses and scalars; a failed check needs `failure` bytes."""
        buffers = [_kernel_parameter(parameter) for parameter in parameters]
        if failure:
            buffers.append(KernelParameter(failure))
        return HostProgram(self._module, self._plans[name], tuple(buffers))


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a program: a buffer of `bytes`, or a scalar of the ctypes type `kind`."""

    bytes: int = 0
    kind: Any = None


def _kernel_parameter(parameter: Parameter) -> KernelParameter:
    if parameter.shape is None:
        return KernelParameter(kind=scalar_kind(parameter.type).ctype)
    dtype = numpy_dtype(parameter.type)
    return KernelParameter(max(prod(parameter.shape) * dtype.itemsize, 1))


Copy = Callable[[int, int, int], None]
"""Copies bytes: from the addresses of the target and the source, and the number of bytes."""


@dataclass(frozen=True)
class HostProgram:
    """A function that launches kernels."""

    module: cuda.KernelModule
    plan: HostPlan
    parameters: tuple[KernelParameter, ...]

    def run(self, *passed: Any) -> None:
        """Call it with the addresses of arrays, and scalars."""
        driver = self.module.driver
        with driver.make_current(), ExitStack() as resources:
            values: dict[int, Any] = {}
            copied: list[tuple[int, Copy]] = []
            for position, (parameter, argument) in enumerate(
                zip(self.parameters, passed, strict=True)
            ):
                if not parameter.bytes:
                    values[position] = parameter.kind(argument)
                    continue
                is_on_device = driver.is_on_device(argument)
                if is_on_device and argument % ALIGNMENT == 0:
                    values[position] = ctypes.c_uint64(argument)
                    continue
                values[position] = self._allocate(parameter.bytes, resources)
                copied.append((position, driver.copy_within if is_on_device else driver.copy_out))
                if position in self.plan.read:
                    copy = driver.copy_within if is_on_device else driver.copy_in
                    copy(values[position].value, argument, parameter.bytes)
            for step in self.plan.steps:
                self._run_step(step, values, resources)
            for position, copy in copied:
                if position in self.plan.written:
                    copy(passed[position], values[position].value, self.parameters[position].bytes)

    def run_on_device(self, addresses: Sequence[int]) -> None:
        """Call it with the addresses of aligned arrays on the GPU, which it does not check."""
        with self.module.driver.make_current(), ExitStack() as resources:
            values: dict[int, Any] = dict(enumerate(map(ctypes.c_uint64, addresses)))
            for step in self.plan.steps:
                self._run_step(step, values, resources)

    def _allocate(self, bytes: int, resources: ExitStack) -> ctypes.c_uint64:
        address = self.module.driver.allocate(bytes)
        resources.callback(self.module.driver.free, address)
        return ctypes.c_uint64(address)

    def _run_step(self, step: Step, values: dict[int, Any], resources: ExitStack) -> None:
        match step:
            case Allocate(value, bytes):
                values[value] = self._allocate(bytes, resources)
            case Launch(kernel, grid, block, shared_bytes, arguments):
                operands = [values[number] for number in arguments]
                function = self.module.get_function(kernel, shared_bytes)
                self.module.driver.launch(function, grid, block, operands, shared_bytes)
            case Repeat():
                self._run_loop(step, values, resources)

    def _run_loop(self, step: Repeat, values: dict[int, Any], resources: ExitStack) -> None:
        carried = [values[number] for number in step.initial]
        for index in range(step.start, step.end, step.step):
            values[step.index] = ctypes.c_int64(index)
            values |= zip(step.carried, carried, strict=True)
            for inner in step.steps:
                self._run_step(inner, values, resources)
            carried = [values[number] for number in step.yielded]
        values |= zip(step.results, carried, strict=True)
