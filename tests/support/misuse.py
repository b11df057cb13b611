"""Random calls that are mostly wrong: any arguments for every function, method and operator.

The functions below are a user's program: an error must be reported at one of their lines.
"""

from __future__ import annotations

import operator
import random
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import riselang as rl
from riselang.dsl.patterns import FUNCTIONS
from riselang.support.errors import InternalError, RiseError

OWN_FILES = str(Path(rl.__file__).parent)
DTYPES = (np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, np.complex64, np.float16)
SHAPES = ((), (1,), (3,), (4,), (3, 4), (4, 3), (2, 3, 4), (0,), (0, 3))
AXES = (0, 1, -1, 2, -4, None, (0, 1), "0", 1.5)
HELPERS = """
where cast bitcast clip stack concatenate roll take_along matmul dot tensordot einsum arange
zeros ones full eye argmax argmin argsort top_k cumsum histogram filter compress map2d slide2d
pad2d zip2d add sub mult div max min abs popcount clz complex real imag conj literal check vmap
""".split()  # noqa: SIM905
METHODS = """
sum prod mean max min all any argmax argmin transpose reshape flatten squeeze astype
""".split()  # noqa: SIM905
BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift,
    operator.rshift, operator.lt, operator.eq,
)  # fmt: skip
NUMPY_NAMES = tuple(name for name in dir(rl.numpy) if not name.startswith("_"))


@dataclass
class Pair:
    first: Any
    second: Any


class Named(NamedTuple):
    first: Any
    second: Any


LEAKED: list[Any] = []
"""Values of a program that was traced before."""


def leak(x: Any) -> Any:
    LEAKED.append(x)
    return x


def raise_leaks() -> None:
    """Leak a value of a program."""
    LEAKED.clear()
    rl.jit(leak, backend="interpret")(np.ones(3, np.float32))


class Misuse:
    """A program and its arguments, from a seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.description = ""

    def array(self) -> Any:
        shape = self.random.choice(SHAPES)
        return np.ones(shape, self.random.choice(DTYPES))

    def constant(self) -> Any:
        """A Python value of any kind."""
        kinds: tuple[Callable[[], Any], ...] = (
            lambda: self.random.choice((0, 1, -1, 2, 3, 4, 7, 1 << 70)),
            lambda: self.random.choice((0.5, float("nan"), 1j, True, None, "N", "3", "N * 2", "")),
            lambda: self.random.choice(([1.0, 2.0], [[1, 2], [3]], [], (), {}, {"a": 1}, {1, 2})),
            lambda: self.random.choice((rl.f32, rl.i32, rl.complex64, rl.T, np.float32, float)),
            lambda: self.random.choice((rl.add, rl.map, rl.reduce(rl.add, 0.0), rl.math.exp, len)),
            lambda: self.random.choice(AXES),
            lambda: self.random.choice(LAMBDAS),
            lambda: self.random.choice(LEAKED),
            lambda: self.random.choice((object(), slice(0, 9, 0), Ellipsis, range(3), Pair(1, 2))),
            self.array,
        )
        return self.random.choice(kinds)()

    def operands(self, values: Sequence[Any], count: int) -> list[Any]:
        return [self.operand(list(values)) for _ in range(count)]

    def operand(self, values: list[Any]) -> Any:
        return self.random.choice(values) if self.random.random() < 0.6 else self.constant()

    def program(self) -> Callable[..., Any]:
        """A function with one wrong call, as it may be."""
        kinds = (
            self.call_pattern, self.call_helper, self.call_method, self.use_operator,
            self.subscript, self.call_numpy, self.nest, self.use_python, self.update,
        )  # fmt: skip
        return self.random.choice(kinds)()

    def call_pattern(self) -> Callable[..., Any]:
        name = self.random.choice(sorted(FUNCTIONS))
        count = self.random.choice((0, 1, 1, 2, 2, 3, 3, 4))
        keywords = self.keywords(("to", "order", "n", "axis"))
        return self.record(
            f"rl.{name}",
            lambda *xs: FUNCTIONS[name](
                *(self.operand(list(xs)) for _ in range(count)), **keywords
            ),
        )

    def call_helper(self) -> Callable[..., Any]:
        name = self.random.choice(HELPERS)
        count = self.random.choice((0, 1, 2, 2, 3))
        keywords = self.keywords(("axis", "keepdims", "dtype"))
        return self.record(
            f"rl.{name}",
            lambda *xs: getattr(rl, name)(
                *(self.operand(list(xs)) for _ in range(count)), **keywords
            ),
        )

    def call_numpy(self) -> Callable[..., Any]:
        name = self.random.choice(NUMPY_NAMES)
        count = self.random.choice((0, 1, 1, 2, 3))
        keywords = self.keywords(("axis", "keepdims", "dtype", "shape"))
        return self.record(
            f"rl.numpy.{name}",
            lambda *xs: getattr(rl.numpy, name)(*self.operands(xs, count), **keywords),
        )

    def call_method(self) -> Callable[..., Any]:
        name = self.random.choice((*METHODS, "summ", "fst", "snd", "T", "shape", "dtype"))
        count = self.random.choice((0, 0, 1, 2))
        keywords = self.keywords(("axis", "keepdims"))

        def program(x: Any, *xs: Any) -> Any:
            attribute = getattr(x, name)
            return attribute(*(self.constant() for _ in range(count)), **keywords)

        return self.record(f"x.{name}", program)

    def use_operator(self) -> Callable[..., Any]:
        function = self.random.choice(BINARY)
        return self.record(
            function.__name__, lambda *xs: function(self.operand(list(xs)), self.operand(list(xs)))
        )

    def subscript(self) -> Callable[..., Any]:
        def program(x: Any, *xs: Any) -> Any:
            keys = self.operands([x, *xs], self.random.choice((1, 1, 2, 3)))
            return x[tuple(keys) if len(keys) > 1 else keys[0]]

        return self.record("x[...]", program)

    def update(self) -> Callable[..., Any]:
        method = self.random.choice(("set", "add", "max", "mul"))

        def program(x: Any, *xs: Any) -> Any:
            return getattr(x.at[self.operand([x, *xs])], method)(self.operand([x, *xs]))

        return self.record(f"x.at[...].{method}", program)

    def nest(self) -> Callable[..., Any]:
        """A function on elements that does something wrong with them or with captured values."""
        inner = self.random.choice((self.use_operator, self.subscript, self.call_method))()
        pattern = self.random.choice((rl.map, rl.map_seq, rl.map_par))
        return self.record(
            f"map of {self.description}", lambda x, *xs: x | pattern(lambda *e: inner(*e, x, *xs))
        )

    def use_python(self) -> Callable[..., Any]:
        """Python that needs the value of an element."""
        uses: tuple[Callable[[Any], Any], ...] = (
            lambda x: 1.0 if x[0] > 0 else 2.0, lambda x: float(x), lambda x: int(x[0]),
            lambda x: list(x), lambda x: np.sin(x), lambda x: {x: 1}, lambda x: range(x),
            lambda x: x.__setitem__(0, 1.0), lambda x: x and x, lambda x: not x, lambda x: None,
            lambda x: "text", lambda x: {"a": x, "b": "text"}, lambda x: leak(x) and LEAKED[0],
            lambda x: np.asarray(x), lambda x: x.foo, lambda x: x(1), lambda x: f"{x:.2f}",
            lambda x: sum(x), lambda x: max(x, 1.0), lambda x: rl.map(x, x), lambda x: math_of(x),
            lambda x: round(x), lambda x: x in x, lambda x: list(reversed(x)),
            lambda x: divmod(x, 2),
        )  # fmt: skip
        use = self.random.choice(uses)
        return self.record("Python", lambda x, *xs: use(x))

    def keywords(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        if self.random.random() < 0.6:
            return {}
        return {self.random.choice((*names, "axsi")): self.constant()}

    def record(self, description: str, program: Callable[..., Any]) -> Callable[..., Any]:
        self.description = description
        return program

    def arguments(self) -> list[Any]:
        kinds: tuple[Callable[[], Any], ...] = (
            *[self.array] * 20,
            lambda: (self.array(), self.array()), lambda: {"a": self.array()},
            lambda: Pair(self.array(), self.array()), lambda: Named(self.array(), 2.0),
            lambda: self.random.choice((1.0, 2, True, [1.0, 2.0], [[1, 2], [3]], "text", None)),
        )  # fmt: skip
        return [self.random.choice(kinds)() for _ in range(self.random.choice((1, 1, 2)))]

    def run(self) -> str | None:
        """Return the kind of error, or None; raise an AssertionError for a bad report."""
        program, arguments = self.program(), self.arguments()

        def one(x: Any) -> Any:
            return program(x)

        def two(x: Any, y: Any) -> Any:
            return program(x, y)

        try:
            rl.jit(one if len(arguments) == 1 else two, backend="interpret")(*arguments)
        except Exception as error:
            problem = report_problem(error)
            assert problem is None, f"{self.description} on {arguments}: {problem}"
            return type(error).__name__
        return None


def math_of(x: Any) -> Any:
    return rl.math.exp(x) + rl.math.unknown(x)


LAMBDAS: tuple[Callable[..., Any], ...] = (
    lambda: 1.0, lambda a: a, lambda a, b: a + b, lambda a, b, c: a, lambda a: "text",
    lambda a: None, lambda a: (a, a), lambda a: a[0], lambda *a: a[0], lambda a: {"k": a},
)  # fmt: skip


SIGNATURE_ERROR = re.compile(r"\(\) (?:got|missing|takes) ")
"""An error of Python for a call that does not match the parameters."""


def report_problem(error: Exception) -> str | None:
    """Return what is wrong with the report of an error; None if it is good.

    Errors of Python itself are good if they are raised in the user's program.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(OWN_FILES)]
    if not isinstance(error, RiseError):
        is_users = frames[-1].filename == __file__ or SIGNATURE_ERROR.search(str(error))
        text = f"{type(error).__name__}: {error}"
        return None if is_users else f"{text} at {own[-1].filename}:{own[-1].lineno}"
    if isinstance(error, InternalError):
        return f"an internal error: {error}"
    for frame in own:
        if "shorten_traceback" not in (frame.line or ""):
            return f"the traceback of '{error.message}' contains {frame.filename}:{frame.lineno}"
    return f"the message has several lines: {error.message}" if "\n" in error.message else None
