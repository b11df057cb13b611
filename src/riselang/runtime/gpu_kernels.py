"""Run GPU programs: copy arrays to the GPU, launch kernels, and copy the results back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from typing import Any

from riselang.native import cuda
from riselang.runtime.device_arrays import ALIGNMENT
from riselang.runtime.executable import DeviceFunction, Parameter, scalar_kind
from riselang.runtime.host_code import HostCode
from riselang.runtime.launches import HostPlan, Kernels
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
        return KernelParameter(kind=scalar_kind(parameter).ctype)
    return KernelParameter(max(prod(parameter.shape) * parameter.dtype.itemsize, 1))


Copy = Callable[[int, int, int], None]
"""Copies bytes: from the addresses of the target and the source, and the number of bytes."""


class HostProgram:
    """A function that launches kernels."""

    def __init__(
        self,
        module: cuda.KernelModule,
        plan: HostPlan,
        parameters: Sequence[KernelParameter],
    ):
        self._driver = module.driver
        self._plan = plan
        self._parameters = tuple(parameters)
        self._code = HostCode(plan, len(parameters), module)
        self.device_function = DeviceFunction(self._code.launch, self._driver.raise_host_error)

    def run(self, *passed: Any) -> None:
        """Call it with the addresses of arrays, and scalars."""
        driver = self._driver
        with driver.make_current(), ExitStack() as resources:
            values: list[int] = []
            copied: list[tuple[int, Copy]] = []
            for position, (parameter, argument) in enumerate(
                zip(self._parameters, passed, strict=True)
            ):
                if not parameter.bytes:
                    values.append(_bits(parameter.kind(argument)))
                    continue
                is_on_device = driver.is_on_device(argument)
                if is_on_device and argument % ALIGNMENT == 0:
                    values.append(argument)
                    continue
                values.append(self._allocate(parameter.bytes, resources))
                copied.append((position, driver.copy_within if is_on_device else driver.copy_out))
                if position in self._plan.read:
                    copy = driver.copy_within if is_on_device else driver.copy_in
                    copy(values[position], argument, parameter.bytes)
            if failure := self._code.function(None, *values):
                driver.raise_host_error(failure)
            for position, copy in copied:
                if position in self._plan.written:
                    copy(passed[position], values[position], self._parameters[position].bytes)

    def _allocate(self, bytes: int, resources: ExitStack) -> int:
        address = self._driver.allocate(bytes)
        resources.callback(self._driver.free, address)
        return address


def _bits(scalar: Any) -> int:
    """Return a scalar of a ctypes type as the lowest bytes of a number."""
    return int.from_bytes(bytes(scalar), "little")
