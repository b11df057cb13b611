"""Programs that are long or deep, in each surface form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import riselang as rl

MODULE = """func.func @f(%out : memref<{shape}f32>, %in : memref<{shape}f32>) {{
  rise.lowering_unit {{
    %x0 = rise.in %in : {type}
{body}
    rise.out %out <- {result}
    rise.return
  }}
  return
}}
"""


def chain_notation(length: int) -> str:
    """An array reversed again and again."""
    return f"fun(x : 4.f32, x{' |> reverse' * length})"


def nested_notation(depth: int) -> str:
    """A lambda in a lambda in a lambda."""
    opened = "".join(f"iterate(1, fun(x{i} : f32, " for i in range(1, depth + 1))
    closed = "".join(f"), x{i - 1})" for i in range(depth, 0, -1))
    return f"fun(x0 : f32, {opened}x{depth}{closed})"


def chain_module(length: int) -> str:
    lines = ["    %reverse = rise.reverse #rise.nat<4> #rise.scalar<f32>"]
    lines += [f"    %x{i} = rise.apply %reverse, %x{i - 1}" for i in range(1, length + 1)]
    return MODULE.format(
        shape="4x", type="!rise.array<4, scalar<f32>>", body="\n".join(lines), result=f"%x{length}"
    )


def nested_module(depth: int) -> str:
    scalar = "!rise.scalar<f32>"
    lines = [f"%f{i} = rise.lambda (%x{i} : {scalar}) -> {scalar} {{" for i in range(1, depth + 1)]
    lines.append(f"rise.return %x{depth} : {scalar}")
    for i in range(depth, 0, -1):
        lines += [
            "}",
            f"%iterate{i} = rise.iterate #rise.nat<1> #rise.scalar<f32>",
            f"%r{i} = rise.apply %iterate{i}, %f{i}, %x{i - 1}",
        ]
        if i > 1:
            lines.append(f"rise.return %r{i} : {scalar}")
    return MODULE.format(shape="", type=scalar, body="\n".join(lines), result="%r1")


def chain_python(length: int) -> Callable[..., Any]:
    def chain(x: rl.Array[4, rl.f32]) -> Any:
        for _ in range(length):
            x = rl.reverse(x)
        return x

    return chain


def nested_python(depth: int) -> Callable[..., Any]:
    def level(left: int, value: Any) -> Any:
        return rl.iterate(1, lambda x: level(left - 1, x), value) if left else value

    def nested(x: rl.f32) -> Any:
        return level(depth, x)

    return nested
