"""Lay out the text of a strategy on several lines, for files that people read and edit."""

from __future__ import annotations

import ast

from riselang.rewrite.core import Strategy
from riselang.rewrite.parameters import parse_text
from riselang.rewrite.strategy_text import chain_operands, restore_keywords

WIDTH = 88
"""The number of characters in a line, unless a name or a number is longer."""
INDENT = 4


def format_strategy(strategy: Strategy) -> str:
    """Return the text of a strategy on lines of at most `WIDTH` characters, which parses back."""
    statement = parse_text(str(strategy)).body[-1]
    assert isinstance(statement, ast.Expr)
    return restore_keywords(_layout(statement.value, 0))


def _layout(node: ast.expr, indent: int, others: int = 0) -> str:
    """Return the text of a node on one line, or on several whose last one has this indentation.

    `others` is the number of characters that share a line with the node.
    """
    text = ast.unparse(node)
    if indent + others + len(text) <= WIDTH:
        return text
    match node:
        case ast.BinOp(op=ast.RShift() | ast.BitOr()):
            return f"(\n{_layout_chain(node, indent + INDENT)}\n{' ' * indent})"
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            address = ast.unparse(right)
            return f"{_layout_operand(left, indent, others + len(address) + 3)} @ {address}"
        case ast.Call(args=arguments, keywords=keywords):
            parts = [_layout(each, indent + INDENT, 1) for each in arguments]
            for each in keywords:
                value = _layout(each.value, indent + INDENT, len(each.arg or "") + 2)
                parts.append(f"{each.arg}={value}")
            lines = "".join(f"{' ' * (indent + INDENT)}{part},\n" for part in parts)
            return f"{ast.unparse(node.func)}(\n{lines}{' ' * indent})"
        case _:
            return text


def _layout_chain(node: ast.BinOp, indent: int) -> str:
    """Return a line for each operand, with the operator before all but the first."""
    operator = ">>" if isinstance(node.op, ast.RShift) else "|"
    first, *rest = (
        _layout_operand(each, indent, len(operator) + 1) for each in chain_operands(node)
    )
    spaces = " " * indent
    return f"{spaces}{first}" + "".join(f"\n{spaces}{operator} {each}" for each in rest)


def _layout_operand(node: ast.expr, indent: int, others: int) -> str:
    """Return an operand, in parentheses if it is an operation itself."""
    if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.MatMult):
        return _layout(node, indent, others)
    text = f"({ast.unparse(node)})"
    if indent + others + len(text) <= WIDTH:
        return text
    return f"(\n{_layout_chain(node, indent + INDENT)}\n{' ' * indent})"
