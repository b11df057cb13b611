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
        infinite = self.either(*(self.builder.compare("eq", each, infinity) for each in sizes))
        return self.where(infinite, infinity, self.where(self.is_zero(large), large, length))

    def either(self, left: Node, right: Node) -> Node:
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

    def combined(self, z: Node, names: tuple[str, str, str, str]) -> Node:
        """Return `f(a) * g(b) + i * h(a) * k(b)` for the four functions and the parts a and b."""
        real, imaginary = self.builder.parts(z)
        factors = [
            self.apply(name, part) for name, part in zip(names, (real, imaginary) * 2, strict=True)
        ]
        return self.complex(self.apply("mult", *factors[:2]), self.apply("mult", *factors[2:]))

    def sin(self, z: Node) -> Node:
        return self.combined(z, ("sin", "cosh", "cos", "sinh"))

    def cos(self, z: Node) -> Node:
        return self.conj(self.combined(z, ("cos", "cosh", "sin", "sinh")))

    def sinh(self, z: Node) -> Node:
        return self.combined(z, ("sinh", "cos", "cosh", "sin"))

    def cosh(self, z: Node) -> Node:
        return self.combined(z, ("cosh", "cos", "sinh", "sin"))

    def tanh(self, z: Node) -> Node:
        """With t = tanh(a) and u = tan(b): (t * (1 + u * u) + i * u / cosh(a) ** 2) divided by
        1 + (t * u) ** 2; for large a, it is 1 or -1."""
        real, imaginary = self.builder.parts(z)
        t, u = self.apply("tanh", real), self.apply("tan", imaginary)
        cosh, one, product = self.apply("cosh", real), self.constant(1.0), self.apply("mult", t, u)
        whole = self.apply("add", one, self.apply("mult", product, product))
        first = self.apply("mult", t, self.apply("add", one, self.apply("mult", u, u)))
        second = self.apply("div", self.apply("div", u, cosh), cosh)
        return self.complex(self.apply("div", first, whole), self.apply("div", second, whole))

    def tan(self, z: Node) -> Node:
        """Return `-i * tanh(i * z)`."""
        real, imaginary = self.builder.parts(z)
        turned = self.tanh(self.complex(self.apply("neg", imaginary), real))
        first, second = self.builder.parts(turned)
        return self.complex(second, self.apply("neg", first))

    def pow(self, base: Node, exponent: Node) -> Node:
        """Return `exp(exponent * log(base))`; powers of 0 are 1, 0 or NaN."""
        power = self.exp(self.mult(exponent, self.log(base)))
        real, imaginary = self.builder.parts(exponent)
        zero, one, nan = (self.constant(number) for number in (0.0, 1.0, float("nan")))
        is_positive = self.builder.compare("gt", real, zero)
        is_none = self.both(self.is_zero(real), self.is_zero(imaginary))
        first = self.where(is_none, one, self.where(is_positive, zero, nan))
        second = self.where(self.either(is_none, is_positive), zero, nan)
        is_zero = self.both(*map(self.is_zero, self.builder.parts(base)))
        return self.select(is_zero, self.complex(first, second), power)

    def both(self, left: Node, right: Node) -> Node:
        return self.builder.operation("bitand", [left, right], i1)

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
    "pow": ComplexArithmetic.pow,
    "sin": ComplexArithmetic.sin,
    "cos": ComplexArithmetic.cos,
    "tan": ComplexArithmetic.tan,
    "sinh": ComplexArithmetic.sinh,
    "cosh": ComplexArithmetic.cosh,
    "tanh": ComplexArithmetic.tanh,
    "complex": ComplexArithmetic.complex,
    "real": ComplexArithmetic.real,
    "imag": ComplexArithmetic.imag,
    "conj": ComplexArithmetic.conj,
    "compare": ComplexArithmetic.compare,
    "arith.select": ComplexArithmetic.select,
}
"""The operations by the names of nodes."""
COMPLEX_NAMES = tuple(name for name in OPERATIONS if "." not in name)
COMPLEX_OPERATIONS: Mapping[str, int] = {"complex": 2, "real": 1, "imag": 1, "conj": 1}
"""The operations that exist only for complex numbers, and their numbers of operands."""
