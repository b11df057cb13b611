"""Writes device functions for products of tiles: what `mma_sync` and `wgmma` have in common.

Such a function takes its operands, their positions, the calling thread, the number of the tile of
those that its block computes, and the value from which the sums start. It returns the sums that the
thread holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from riselang.lowering.gpu.tensor_products import TensorProduct
from riselang.native.llvm.ir_writer import ATTRIBUTES, IrWriter

INSTRUCTION_BYTES = 32
"""The bytes of a row that one instruction multiplies."""


def function_parameters(product: TensorProduct) -> list[str]:
    """Return the parameters of a function: `r0`, `c0` and so on are the positions."""
    coordinates = [
        f"i32 %{name}{number}"
        for name, operand in (("r", product.rows), ("c", product.columns))
        for number in range(len(operand.shape))
    ]
    return ["ptr %rows", "ptr %columns", *coordinates, "i32 %thread", "i32 %round",
            f"{product.accumulator} %init"]  # fmt: skip


class ProductWriter(IrWriter, ABC):
    """A function whose stages are in the buffer `tiles` in shared memory."""

    def __init__(self, product: TensorProduct, tiles: str):
        super().__init__()
        self.product = product
        self.tiles = shared_address(tiles)

    @abstractmethod
    def write_body(self) -> None:
        """Write the blocks of the function, from `entry` on."""

    def function(self) -> str:
        product, parameters = self.product, ", ".join(function_parameters(self.product))
        self.write_body()
        header = f"define internal {self.result_type} @{product.name}({parameters}) alwaysinline {{"
        return "\n".join([header, *self.lines, "}", ""])

    @property
    def result_type(self) -> str:
        return f"<{self.product.registers} x {self.product.accumulator}>"

    @property
    def instruction_depth(self) -> int:
        """The number of products of each sum that one instruction adds."""
        return INSTRUCTION_BYTES // self.product.element_bytes

    @property
    def instructions(self) -> int:
        """The number of instructions for each step."""
        return self.product.step // self.instruction_depth

    def stage_address(self, stage: str) -> str:
        offset = self.let(f"mul i32 {stage}, {self.product.stage_bytes}")
        return self.let(f"add i32 {self.tiles}, {offset}")

    def add_phis(
        self, position: int, values: Sequence[tuple[str, str, str, str]], entry: str, latch: str
    ) -> None:
        """Start a loop at a line with its values: name, type, first value, and next value."""
        self.lines[position:position] = [
            f"  {name} = phi {type} [ {first}, %{entry} ], [ {following}, %{latch} ]"
            for name, type, first, following in values
        ]

    def sum_phis(
        self, sums: Sequence[str], results: Sequence[str]
    ) -> list[tuple[str, str, str, str]]:
        """Return the sums as values of a loop."""
        type = self.product.accumulator
        return [(name, type, "%init", result) for name, result in zip(sums, results, strict=True)]

    def asm_sums(
        self, text: str, sums: Sequence[str], operands: Sequence[str] = (), kinds: str = "",
        *, is_volatile: bool = True, touches_memory: bool = False,
    ) -> list[str]:  # fmt: skip
        """Emit PTX that updates sums, its first operands; `kinds` are the other constraints."""
        type, count = self.product.accumulator, len(sums)
        kind = "r" if type == "i32" else "f"
        constraints = [f"={kind}"] * count + [*kinds] + [str(number) for number in range(count)]
        constraints += ["~{memory}"] if touches_memory else []
        struct = "{ " + ", ".join([type] * count) + " }"
        values = ", ".join([*operands, *(f"{type} {each}" for each in sums)])
        effect = " sideeffect" if is_volatile else ""
        result = self.let(
            f'call {struct} asm{effect} "{text}", "{",".join(constraints)}"({values}) {ATTRIBUTES}'
        )
        return [self.let(f"extractvalue {struct} {result}, {number}") for number in range(count)]

    def return_sums(self, sums: Sequence[str]) -> None:
        type, vector = self.product.accumulator, "poison"
        for number, value in enumerate(sums):
            vector = self.let(
                f"insertelement {self.result_type} {vector}, {type} {value}, i32 {number}"
            )
        self.emit(f"ret {self.result_type} {vector}")


def shared_address(buffer: str) -> str:
    """Return the address of a buffer in shared memory, as a constant."""
    return f"ptrtoint (ptr addrspace(3) @{buffer} to i32)"
