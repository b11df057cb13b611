"""Calls of the GPU's driver, on a library that notes them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from riselang.native import cuda
from riselang.support.errors import LimitationError, UserError


class Library:
    """A driver that does nothing; `codes` are what calls of a name return."""

    def __init__(self, pools: int = 1, capability: int = 9, **codes: int):
        self.codes = codes
        self.pools = pools
        self.capability = capability
        self.calls: list[str] = []
        self.arguments: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            self.arguments[name] = arguments
            if name == "cuDeviceGetAttribute":
                is_capability = arguments[1] in cuda.COMPUTE_CAPABILITY
                arguments[0]._obj.value = self.capability if is_capability else self.pools
            if name == "cuMemGetInfo_v2":
                arguments[0]._obj.value, arguments[1]._obj.value = 3 << 20, 8 << 20
            if name in ("cuMemAllocAsync", "cuMemAlloc_v2"):
                arguments[0]._obj.value = 4096
            if name == "cuPointerGetAttribute":
                arguments[0]._obj.value = 2
            if name == "cuGetErrorString":
                arguments[1]._obj.value = b"a reason"
            if name == "cuModuleLoadDataEx":
                log = ctypes.cast(arguments[4][0], ctypes.c_char_p)
                ctypes.memmove(log, b"line 3: no such thing\n\0", 23)
            return self.codes.get(name, 0)

        return call


def test_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "LIBRARY", "no_such_library.so")
    cuda.driver.cache_clear()
    with pytest.raises(LimitationError, match=r"there is no NVIDIA GPU driver here"):
        cuda.driver()
    assert not cuda.is_available()


def test_there_is_no_gpu() -> None:
    with pytest.raises(LimitationError, match=r"there is no NVIDIA GPU here"):
        cuda.Driver(Library(cuInit=100))
    with pytest.raises(UserError, match=r"cuInit of the GPU driver failed: a reason \(999\)"):
        cuda.Driver(Library(cuInit=999))


def test_a_gpu_may_be_too_old() -> None:
    with pytest.raises(LimitationError, match=r"has compute capability 6.6, but kernels need 7.0"):
        cuda.Driver(Library(capability=6))


@pytest.mark.parametrize(("pools", "suffix"), [(1, "Async"), (0, "_v2")])
def test_memory_is_from_a_pool_where_there_is_one(pools: int, suffix: str) -> None:
    library = Library(pools)
    driver = cuda.Driver(library)
    library.calls.clear()
    with driver.make_current():
        address = driver.allocate(256)
        assert driver.is_on_device(address)
        driver.free(address)
    assert library.calls == [
        "cuCtxPushCurrent_v2", f"cuMemAlloc{suffix}", "cuPointerGetAttribute",
        f"cuMemFree{suffix}", "cuCtxPopCurrent_v2",
    ]  # fmt: skip


def test_the_driver_says_why_it_does_not_take_code() -> None:
    driver = cuda.Driver(Library(cuModuleLoadDataEx=218))
    with pytest.raises(UserError, match=r"a reason \(218\): line 3: no such thing$"):
        driver.load(".version 7.0")


def test_too_little_memory_is_a_limit() -> None:
    driver = cuda.Driver(Library(cuMemAllocAsync=2))
    with pytest.raises(LimitationError, match="; 3 of 8 MiB are free; use smaller"):
        driver.allocate(1 << 60)


def test_the_host_function_that_failed_is_reported() -> None:
    driver = cuda.Driver(Library())
    with pytest.raises(LimitationError, match=r"cuMemAllocAsync of the GPU driver failed"):
        driver.raise_host_error(cuda.HOST_FUNCTIONS.index("allocate") << 32 | 2)
    with pytest.raises(UserError, match=r"cuLaunchKernel of the GPU driver failed: a reason \(1\)"):
        driver.raise_host_error(cuda.HOST_FUNCTIONS.index("launch") << 32 | 1)


def test_a_kernel_asks_for_shared_memory() -> None:
    library = Library()
    module = cuda.Driver(library).load("")
    module.get_function("f", 1 << 16)
    assert library.arguments["cuModuleGetFunction"][2] == b"f"
    assert library.arguments["cuFuncSetAttribute"][2] == 1 << 16
