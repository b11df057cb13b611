"""How ranks send arrays to each other: through MPI, or not at all if one process emulates them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from importlib import import_module
from typing import Any

import numpy as np

from riselang.support.errors import UserError

Array = np.ndarray[Any, Any]


class Transport(ABC):
    """The ranks of this process, and messages to the others.

    Messages between two ranks arrive in the order in which they are sent."""

    local_ranks: Collection[int]

    @abstractmethod
    def send(self, array: Array, target: int) -> None:
        """Begin to send a contiguous array."""

    @abstractmethod
    def receive(self, array: Array, source: int) -> None:
        """Begin to receive a contiguous array."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until all messages have been sent and received."""


class Emulation(Transport):
    """All ranks in one process, which has all their buffers."""

    def __init__(self, count: int):
        self.local_ranks = range(count)

    def send(self, array: Array, target: int) -> None:
        raise AssertionError("an emulated rank reads the buffers of the others")

    def receive(self, array: Array, source: int) -> None:
        raise AssertionError("an emulated rank reads the buffers of the others")

    def wait(self) -> None:
        return


class Messages(Transport):
    """Messages of the processes of an MPI communicator."""

    def __init__(self, communicator: Any):
        self.communicator = communicator
        self.local_ranks = (communicator.Get_rank(),)
        self._requests: list[Any] = []
        self._sent: list[Array] = []

    def send(self, array: Array, target: int) -> None:
        self._sent.append(array)
        self._requests.append(self.communicator.Isend(_bytes(array), target))

    def receive(self, array: Array, source: int) -> None:
        self._requests.append(self.communicator.Irecv(_bytes(array), source))

    def wait(self) -> None:
        load_mpi().Request.Waitall(self._requests)
        self._requests, self._sent = [], []


def load_mpi() -> Any:
    """Import the module of MPI, which starts it."""
    try:
        return import_module("mpi4py.MPI")
    except ImportError:
        raise UserError('ranks need MPI: pip install "riselang[mpi]"') from None


def _bytes(array: Array) -> Array:
    """View an array as bytes: MPI has no types for some floats."""
    return array.reshape(-1).view(np.uint8)
