"""What a dialect tells the inliner, as MLIR's `CallOpInterface` and `DialectInlinerInterface` do.

xDSL has the other half, `CallableOpInterface`: what can be called.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import OpTrait


class CallOpInterface(OpTrait, abc.ABC):
    """An op that calls what a symbol or one of its operands names."""

    @classmethod
    @abc.abstractmethod
    def get_callee(cls, op: Operation) -> SymbolRefAttr | SSAValue:
        raise NotImplementedError()

    @classmethod
    @abc.abstractmethod
    def get_arguments(cls, op: Operation) -> Sequence[SSAValue]:
        raise NotImplementedError()


class InlinerInterface(DialectInterface, abc.ABC):
    """Which ops of a dialect may be copied to the place of a call."""

    @abc.abstractmethod
    def is_legal_to_inline(self, op: Operation, target: Operation, call: Operation) -> bool:
        """Whether `op`, which stands in the callable `target`, means the same at `call`."""
        raise NotImplementedError()
