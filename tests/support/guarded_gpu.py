"""A GPU whose buffers lie between guards, so that accesses outside of them are found.

A store outside of a buffer changes a guard, and a load outside of it gives the fill of the guard:
results that are the same with different fills, and those of the interpreter, depend on no guard.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

GUARD_BYTES = 4096
"""The bytes before and after a buffer; buffers stay as aligned as they are."""
FILLS = (0xFF, 0x00)
"""The bytes of guards: floats are NaN, or zero."""


class GuardError(AssertionError):
    """A kernel stored outside of a buffer."""


class GuardedGpu:
    """A driver that allocates guards around each buffer, and checks them when it is freed."""

    def __init__(self, inner: Any, fill: int):
        self._inner = inner
        self._fill = np.full(GUARD_BYTES, fill, np.uint8)
        self._sizes: dict[int, int] = {}
        self.checked = 0
        """The number of buffers whose guards were checked."""
        number, place = ctypes.c_uint64, ctypes.c_void_p
        self._callbacks = (
            ctypes.CFUNCTYPE(ctypes.c_int, place, number, place)(self._allocate_for_host),
            ctypes.CFUNCTYPE(ctypes.c_int, number, place)(self._free_for_host),
        )
        self.errors: list[Exception] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self, ptx: str) -> Any:
        module = self._inner.load(ptx)
        object.__setattr__(module, "driver", self)
        return module

    def allocate(self, bytes: int) -> int:
        address = self._inner.allocate(bytes + 2 * GUARD_BYTES) + GUARD_BYTES
        self._sizes[address] = bytes
        for guard in self._guards(address):
            self._inner.copy_in(guard, self._fill.ctypes.data, GUARD_BYTES)
        return address

    def free(self, address: int) -> None:
        self._inner.synchronize()
        found = np.empty_like(self._fill)
        for guard in self._guards(address):
            self._inner.copy_out(found.ctypes.data, guard, GUARD_BYTES)
            changed = np.flatnonzero(found != self._fill)
            if changed.size:
                offset = guard + int(changed[0]) - address
                raise GuardError(
                    f"byte {offset} of a buffer of {self._sizes[address]} bytes was stored"
                )
        self.checked += 1
        del self._sizes[address]
        self._inner.free(address - GUARD_BYTES)

    def _guards(self, address: int) -> tuple[int, int]:
        return address - GUARD_BYTES, address + self._sizes[address]

    def is_on_device(self, address: int) -> bool:
        inside = any(start <= address < start + size for start, size in self._sizes.items())
        return inside or self._inner.is_on_device(address)

    @property
    def host_functions(self) -> dict[str, int]:
        """The functions that a program's host code calls, with those for memory from here."""
        addresses = [ctypes.cast(each, ctypes.c_void_p).value or 0 for each in self._callbacks]
        return self._inner.host_functions | dict(zip(("allocate", "free"), addresses, strict=True))

    def _allocate_for_host(self, place: int, bytes: int, stream: int) -> int:
        return self._report(
            lambda: setattr(ctypes.c_uint64.from_address(place), "value", self.allocate(bytes))
        )

    def _free_for_host(self, address: int, stream: int) -> int:
        return self._report(lambda: self.free(address))

    def _report(self, action: Any) -> int:
        """Exceptions cannot pass the host code: it returns, and `raise_host_error` raises them."""
        try:
            action()
        except Exception as error:
            self.errors.append(error)
            return 1
        return 0

    def raise_host_error(self, result: int) -> None:
        if self.errors:
            raise self.errors.pop()
        self._inner.raise_host_error(result)
