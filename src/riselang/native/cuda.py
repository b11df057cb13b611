"""The NVIDIA GPU driver: memory, kernels and launches. The only user of libcuda."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from riselang.support.errors import LimitationError, UserError
from riselang.support.lazy import cached_property

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
LOG_BYTES = 1 << 14
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6
OUT_OF_MEMORY, NO_DEVICE = 2, 100
OLDEST_CAPABILITY = (7, 0)
"""The compute capability of the oldest GPUs that kernels are compiled for."""
MEMORY_TYPE, DEVICE_MEMORY = 2, 2
POOLS_SUPPORTED, RELEASE_THRESHOLD = 115, 4
COMPUTE_CAPABILITY = 75, 76
MAX_DYNAMIC_SHARED_BYTES = 8
"""Attribute numbers of the driver API."""
HOST_FUNCTIONS = "current", "push", "pop", "allocate", "free", "launch", "describe"
"""The driver functions that the host's part of a program calls."""
MAP_BYTES, MAP_ALIGNMENT = 128, 64
SWIZZLE_128_BYTES, PROMOTE_128_BYTES = 3, 2
TENSOR_TYPES = {"i8": 0, "f8E4M3FN": 0, "f8E5M2": 0, "f16": 6, "f32": 7, "bf16": 9}
"""Numbers of the driver API for tensor maps."""


@cache
def driver() -> Driver:
    """Return the driver for the first GPU of this machine."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        raise LimitationError(
            f"there is no NVIDIA GPU driver here ({LIBRARY}); 'ptx' shows the code, and "
            'backend="interpret" runs the program'
        ) from None
    return Driver(library)


def is_available() -> bool:
    """Whether there is a GPU to run kernels on."""
    try:
        driver()
    except (LimitationError, UserError):
        return False
    return True


@cache
def compute_capability() -> tuple[int, int] | None:
    """Return the compute capability of the first GPU; None if there is no GPU."""
    device, version = ctypes.c_int(), (ctypes.c_int(), ctypes.c_int())
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    if library.cuInit(0) or library.cuDeviceGet(ctypes.byref(device), 0):
        return None
    for attribute, value in zip(COMPUTE_CAPABILITY, version, strict=True):
        if library.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return None
    return version[0].value, version[1].value


class Driver:
    """The driver API on one GPU."""

    def __init__(self, library: Any):
        self._library = library
        if library.cuInit(0) == NO_DEVICE:
            raise LimitationError(
                "there is no NVIDIA GPU here, or none is visible (see CUDA_VISIBLE_DEVICES); "
                "'ptx' shows the code, and backend=\"interpret\" runs the program"
            )
        self._call("cuInit", 0)
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._context = ctypes.c_uint64()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._has_pool = self._device_attribute(device, POOLS_SUPPORTED) == 1
        if self._has_pool:
            self._keep_memory(device)
        self.name = self._device_name(device)
        self._check_capability(device)
        memory = ("AllocAsync", "FreeAsync") if self._has_pool else ("Alloc_v2", "Free_v2")
        contexts = ("GetCurrent", "PushCurrent_v2", "PopCurrent_v2")
        names = (*(f"cuCtx{each}" for each in contexts), *(f"cuMem{each}" for each in memory))
        self._host_functions = dict(
            zip(HOST_FUNCTIONS, (*names, "cuLaunchKernel", "cuTensorMapEncodeTiled"), strict=True)
        )

    @property
    def context(self) -> int:
        return self._context.value

    @cached_property
    def host_functions(self) -> dict[str, int]:
        """The addresses of `HOST_FUNCTIONS`; the memory functions may ignore their stream."""
        functions: dict[str, Any] = {
            name: getattr(self._library, function, None)  # old drivers do not have all of them
            for name, function in self._host_functions.items()
        }
        return {
            name: ctypes.cast(function, ctypes.c_void_p).value or 0
            for name, function in functions.items()
        }

    def raise_host_error(self, result: int) -> NoReturn:
        """Raise an error for a failed call: its code and, 32 bits higher, the function's number."""
        name = self._host_functions[HOST_FUNCTIONS[result >> 32]]
        raise self._error(name, result & 0xFFFFFFFF)

    def _check_capability(self, device: ctypes.c_int) -> None:
        major, minor = (self._device_attribute(device, each) for each in COMPUTE_CAPABILITY)
        if (major, minor) < OLDEST_CAPABILITY:
            oldest = ".".join(map(str, OLDEST_CAPABILITY))
            raise LimitationError(
                f"{self.name} has compute capability {major}.{minor}, but kernels need "
                f"{oldest} or later; run the program on the CPU, with another setting of loops"
            )

    def _device_attribute(self, device: ctypes.c_int, attribute: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        return value.value

    def _keep_memory(self, device: ctypes.c_int) -> None:
        """Keep freed memory in the process: allocating it again takes longer than most kernels."""
        pool, all_of_it = ctypes.c_void_p(), ctypes.c_uint64(2**64 - 1)
        self._call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), device)
        self._call("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, ctypes.byref(all_of_it))

    def _device_name(self, device: ctypes.c_int) -> str:
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, len(text), device)
        return text.value.decode()

    def _call(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            raise self._error(function, code)

    def _error(self, function: str, code: int) -> UserError | LimitationError:
        text = ctypes.c_char_p()
        self._library.cuGetErrorString(code, ctypes.byref(text))
        reason = (text.value or b"unknown error").decode()
        message = f"{function} of the GPU driver failed: {reason} ({code})"
        if code != OUT_OF_MEMORY:
            return UserError(message)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        if self._library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0:
            message += f"; {free.value >> 20} of {total.value >> 20} MiB are free"
        return LimitationError(f"{message}; use smaller arrays, or free others")

    @contextmanager
    def make_current(self) -> Generator[None]:
        """Make the GPU context current in this thread."""
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def load(self, ptx: str) -> KernelModule:
        """Compile kernels from PTX, and load them."""
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        with self.make_current():
            try:
                self._call(
                    "cuModuleLoadDataEx", ctypes.byref(module), ptx.encode(), 2, options, values
                )
            except UserError as error:
                error.message += f": {log.value.decode(errors='replace').strip()}"
                raise
        return KernelModule(self, module)

    def get_function(self, module: ctypes.c_void_p, name: str, shared_bytes: int = 0) -> int:
        """Return the handle of a kernel that may ask for some shared memory at launch."""
        handle = ctypes.c_uint64()
        self._call("cuModuleGetFunction", ctypes.byref(handle), module, name.encode())
        if shared_bytes:
            self._call("cuFuncSetAttribute", handle, MAX_DYNAMIC_SHARED_BYTES, shared_bytes)
        return handle.value

    def allocate(self, bytes: int) -> int:
        """Allocate memory for kernels that are launched from now on."""
        address = ctypes.c_uint64()
        if self._has_pool:
            self._call("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(bytes), None)
        else:
            self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(bytes))
        return address.value

    def free(self, address: int) -> None:
        """Free memory as soon as all kernels launched before have finished."""
        if self._has_pool:
            self._call("cuMemFreeAsync", ctypes.c_uint64(address), None)
        else:
            self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def is_on_device(self, address: int) -> bool:
        """Whether an address is in GPU memory."""
        kind = ctypes.c_uint()
        code = self._library.cuPointerGetAttribute(
            ctypes.byref(kind), MEMORY_TYPE, ctypes.c_uint64(address)
        )
        return code == 0 and kind.value == DEVICE_MEMORY

    def copy_in(self, target: int, source: int, bytes: int) -> None:
        self._call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(target),
            ctypes.c_void_p(source),
            ctypes.c_size_t(bytes),
        )

    def copy_out(self, target: int, source: int, bytes: int) -> None:
        """Copy to the host, after all kernels launched before have finished."""
        self._call(
            "cuMemcpyDtoH_v2",
            ctypes.c_void_p(target),
            ctypes.c_uint64(source),
            ctypes.c_size_t(bytes),
        )

    def copy_within(self, target: int, source: int, bytes: int) -> None:
        """Copy from GPU memory to GPU memory."""
        self._call(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(target),
            ctypes.c_uint64(source),
            ctypes.c_size_t(bytes),
            None,
        )

    def synchronize(self) -> None:
        self._call("cuCtxSynchronize")


@dataclass(frozen=True)
class KernelModule:
    """Kernels that are loaded on a GPU."""

    driver: Driver
    handle: ctypes.c_void_p

    def get_function(self, name: str, shared_bytes: int = 0) -> int:
        """Return the handle of a kernel that may ask for some shared memory at launch."""
        with self.driver.make_current():
            return self.driver.get_function(self.handle, name, shared_bytes)
