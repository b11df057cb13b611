"""The operations on complex numbers, as operations on their parts.

Products and quotients are computed as NumPy computes them: quotients by Smith's method, which does
not overflow where the result does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType, i1
from riselang.term import build
from riselang.term.node_building import NodeBuilder

Node = build.Node


@dataclass(frozen=True)
class ComplexArithmetic:
    """Builds nodes from pairs of floats of the type `part`."""

    builder: NodeBuilder
    part: ScalarType
    predicate: str | None = None
    """The predicate of a comparison, or the option of an addition."""

    def real(self, z: Node) -> Node:
        return self.builder.parts(z)[0]

    def imag(self, z: Node) -> Node:
        return self.builder.parts(z)[1]

    def complex(self, real: Node, imaginary: Node) -> Node:
        return self.builder.pair(real, imaginary)

    def apply(self, name: str, *operands: Node, option: str | None = None) -> Node:
        return self.builder.operation(name, operands, self.part, option)

    def where(self, condition: Node, chosen: Node, other: Node) -> Node:
        return self.apply("arith.select", condition, chosen, other)

    def constant(self, number: float) -> Node:
        return self.builder.constant(number, self.part)

    def is_zero(self, x: Node) -> Node:
        return self.builder.compare("eq", x, self.constant(0.0))

    def by_parts(self, name: str, left: Node, right: Node) -> Node:
        parts = zip(self.builder.parts(left), self.builder.parts(right), strict=True)
        return self.complex(*(self.apply(name, a, b, option=self.predicate) for a, b in parts))

    def add(self, left: Node, right: Node) -> Node:
        return self.by_parts("add", left, right)

    def sub(self, left: Node, right: Node) -> Node:
        return self.by_parts("sub", left, right)

    def mult(self, left: Node, right: Node) -> Node:
        (a, b), (c, d) = self.builder.parts(left), self.builder.parts(right)
        real = self.apply("sub", self.apply("mult", a, c), self.apply("mult", b, d))
        return self.complex(
            real, self.apply("add", self.apply("mult", a, d), self.apply("mult", b, c))
        )

    def scale(self, name: str, z: Node, factor: Node) -> Node:
        """Multiply or divide by a real number."""
        return self.complex(*(self.apply(name, each, factor) for each in self.builder.parts(z)))

    def div(self, left: Node, right: Node) -> Node:
        (a, b), (c, d) = self.builder.parts(left), self.builder.parts(right)
        sizes = [self.apply("abs", each) for each in (c, d)]
        is_large = self.builder.compare("ge", *sizes)
        large, small = self.where(is_large, c, d), self.where(is_large, d, c)
        ratio = self.apply("div", small, large)
        whole = self.apply("add", large, self.apply("mult", small, ratio))
        scale = self.apply("div", self.constant(1.0), whole)
        first, second = self.where(is_large, a, b), self.where(is_large, b, a)
        real = self.apply(
            "mult", self.apply("add", first, self.apply("mult", second, ratio)), scale
        )
        difference = self.where(
            is_large,
            self.apply("sub", b, self.apply("mult", a, ratio)),
            self.apply("sub", self.apply("mult", b, ratio), a),
        )
        imaginary = self.apply("mult", difference, scale)
        by_zero, zero = self.is_zero(large), sizes[0]
        return self.complex(
            self.where(by_zero, self.apply("div", a, zero), real),
            self.where(by_zero, self.apply("div", b, zero), imaginary),
        )

    def neg(self, z: Node) -> Node:
        return self.complex(*(self.apply("neg", each) for each in self.builder.parts(z)))

    def conj(self, z: Node) -> Node:
        real, imaginary = self.builder.parts(z)
        return self.complex(real, self.apply("neg", imaginary))

    def abs(self, z: Node) -> Node:
        """The length, from the ratio of the parts, whose square does not overflow."""
        sizes = [self.apply("abs", each) for each in self.builder.parts(z)]
        large, small = self.apply("max", *sizes), self.apply("min", *sizes)
        ratio = self.apply("div", small, large)
        square = self.apply("add", self.constant(1.0), self.apply("mult", ratio, ratio))
        length = self.apply("mult", large, self.apply("sqrt", square))
        # With an infinite part, the length is infinite, even if the other part is NaN.
        infinity = self.constant(float("inf"))
        infinite = self.apply_or(*(self.builder.compare("eq", each, infinity) for each in sizes))
        return self.where(infinite, infinity, self.where(self.is_zero(large), large, length))

    def apply_or(self, left: Node, right: Node) -> Node:
        return self.builder.operation("bitor", [left, right], i1)

    def exp(self, z: Node) -> Node:
        real, imaginary = self.builder.parts(z)
        size = self.apply("exp", real)
        parts = (self.apply(name, imaginary) for name in ("cos", "sin"))
        return self.complex(*(self.apply("mult", size, each) for each in parts))

    def log(self, z: Node) -> Node:
        real, imaginary = self.builder.parts(z)
        return self.complex(self.apply("log", self.abs(z)), self.apply("atan2", imaginary, real))

    def sqrt(self, z: Node) -> Node:
        """The root with a positive real part."""
        real, imaginary = self.builder.parts(z)
        total = self.apply("add", self.apply("abs", real), self.abs(z))
        root = self.apply("sqrt", self.apply("mult", self.constant(0.5), total))
        double = self.apply("add", root, root)
        quotient = self.apply("div", imaginary, double)
        is_positive = self.builder.compare("ge", real, self.constant(0.0))
        first = self.where(is_positive, root, self.apply("abs", quotient))
        second = self.where(is_positive, quotient, self.apply("copysign", root, imaginary))
        is_zero = self.is_zero(root)
        return self.complex(first, self.where(is_zero, imaginary, second))

    def compare(self, left: Node, right: Node) -> Node:
        """Whether both parts are equal, or one of them differs."""
        relation = self.predicate or ""
        pairs = zip(self.builder.parts(left), self.builder.parts(right), strict=True)
        tests = [self.builder.compare(relation, a, b) for a, b in pairs]
        return self.builder.operation("bitand" if relation == "eq" else "bitor", tests, i1)

    def select(self, condition: Node, chosen: Node, other: Node) -> Node:
        pairs = zip(self.builder.parts(chosen), self.builder.parts(other), strict=True)
        return self.complex(*(self.where(condition, a, b) for a, b in pairs))


OPERATIONS: Mapping[str, Callable[..., Node]] = {
    "add": ComplexArithmetic.add,
    "sub": ComplexArithmetic.sub,
    "mult": ComplexArithmetic.mult,
    "div": ComplexArithmetic.div,
    "neg": ComplexArithmetic.neg,
    "abs": ComplexArithmetic.abs,
    "exp": ComplexArithmetic.exp,
    "log": ComplexArithmetic.log,
    "sqrt": ComplexArithmetic.sqrt,
    "complex": ComplexArithmetic.complex,
    "real": ComplexArithmetic.real,
    "imag": ComplexArithmetic.imag,
    "conj": ComplexArithmetic.conj,
    "compare": ComplexArithmetic.compare,
    "arith.select": ComplexArithmetic.select,
}
"""The operations by the names of nodes."""
