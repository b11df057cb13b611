"""Interfaces for the inliner, like MLIR's `CallOpInterface` and `DialectInlinerInterface`.

xDSL has the counterpart for callees, `CallableOpInterface`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import OpTrait


class CallOpInterface(OpTrait, abc.ABC):
    """An op that calls a symbol or one of its operands."""

    @classmethod
    @abc.abstractmethod
    def get_callee(cls, op: Operation) -> SymbolRefAttr | SSAValue:
        raise NotImplementedError()

    @classmethod
    @abc.abstractmethod
    def get_arguments(cls, op: Operation) -> Sequence[SSAValue]:
        raise NotImplementedError()


class InlinerInterface(DialectInterface, abc.ABC):
    """Decides which ops of a dialect may be inlined at a call."""

    @abc.abstractmethod
    def is_legal_to_inline(self, op: Operation, target: Operation, call: Operation) -> bool:
        """Whether `op`, which is in the callable `target`, has the same meaning at `call`."""
        raise NotImplementedError()
