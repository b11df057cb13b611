"""Pass `symbol-dce`: removes unused private symbols."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.passes import ModulePass
from xdsl.traits import SymbolOpInterface

from riselang.support.recursion import with_deep_stack


@dataclass(frozen=True)
class SymbolDcePass(ModulePass):
    """Removes private symbols that no other symbol references."""

    name = "symbol-dce"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = {inner: name for inner in op.walk() if (name := _private_symbol(inner))}
        dead = symbols.keys() - _live_symbols(op, symbols)
        for symbol in dead:
            # A symbol inside of another is erased with it.
            if dead.isdisjoint(_ancestors(symbol)):
                symbol.detach()
                symbol.erase(safe_erase=False)


def _ancestors(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _private_symbol(op: Operation) -> str | None:
    interface = op.get_trait(SymbolOpInterface)
    visibility = op.get_attr_or_prop("sym_visibility")
    if interface is None or visibility != StringAttr("private"):
        return None
    name = interface.get_sym_attr_name(op)
    return None if name is None else name.data


def _live_symbols(module: ModuleOp, symbols: dict[Operation, str]) -> set[Operation]:
    """Return the private symbols that are referred to, directly or indirectly.

    A name counts as used whatever its symbol table is, so at worst a dead symbol is kept.
    """
    live: set[Operation] = set()
    waiting: list[Operation] = [module]
    while waiting:
        names = set(_names_used(waiting.pop(), symbols))
        reached = {op for op, name in symbols.items() if name in names} - live
        live |= reached
        waiting.extend(reached)
    return live


def _names_used(root: Operation, symbols: dict[Operation, str]) -> Iterator[str]:
    """Return the symbols that `root` refers to, without the private symbols inside it."""
    stack = [root]
    while stack:
        op = stack.pop()
        for attribute in (*op.attributes.values(), *op.properties.values()):
            yield from _names_in(attribute)
        inner = (child for region in op.regions for block in region.blocks for child in block.ops)
        stack.extend(child for child in inner if child not in symbols)


def _names_in(attribute: Attribute) -> Iterator[str]:
    match attribute:
        case SymbolRefAttr():
            yield attribute.root_reference.data
            yield from (name.data for name in attribute.nested_references.data)
        case ArrayAttr():
            for item in attribute.data:
                yield from _names_in(item)
        case DictionaryAttr():
            for item in attribute.data.values():
                yield from _names_in(item)
        case ParametrizedAttribute():
            for item in attribute.parameters:
                yield from _names_in(item)
        case _:
            return
