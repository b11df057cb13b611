"""The listings of the seeds, run: compiled code gives the interpreter's bits, numpy the numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from running import (
    LOOPS,
    SEEDS,
    Array,
    assert_same_bits,
    checked,
    function_named,
    interpret,
    random_array,
    seed,
    verified,
    with_loops,
)
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import riselang as rl
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.dialects.rise.interface_ops import LoweringUnitOp
from riselang.dsl.symbolic_values import Value
from riselang.native.mlir import bindings as mlir
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.term.from_dialect import read_units
from riselang.term.to_dialect import program_module

pytestmark = pytest.mark.rotating(4)


@dataclass(frozen=True)
class Program:
    """A function of a seed file: the shapes of its inputs, and what numpy says it computes."""

    file: str
    function: str
    output: tuple[int, ...]
    inputs: Sequence[tuple[int, ...]]
    meaning: Callable[..., Array]
    dtype: type = np.float32

    def __str__(self) -> str:
        return f"{self.file}-{self.function}"

    def arrays(self) -> list[Array]:
        out = np.zeros(self.output, self.dtype)
        return [out, *(random_array(*shape, dtype=self.dtype) for shape in self.inputs)]


def convolve(image: Array, weights: Array) -> Array:
    padded = np.pad(image, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    return np.einsum("ijkl,kl->ij", windows, weights)


def separately(image: Array, horizontal: Array, vertical: Array) -> Array:
    return convolve(image, np.outer(vertical, horizontal))


def stencil(xs: Array) -> Array:
    padded = np.pad(xs, 1, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, 3)[::2].sum(axis=1)


PROGRAMS = [
    Program("000_matmul", "mm_fused", (7, 9), [(7, 5), (5, 9)], np.matmul),
    Program("000_matmul", "mm", (7, 9), [(7, 5), (5, 9)], np.matmul),
    Program("000_identity", "identity", (), [()], lambda y: y, np.int32),
    Program("000_map", "map", (1024,), [(1024,)], np.square, np.int32),
    Program("000_convolution", "convolution", (6, 8), [(6, 8), (3, 3)], convolve),
    Program("000_separated_convolution", "separated", (6, 8), [(6, 8), (3,), (3,)], separately),
    Program("002_matmul", "mm", (4, 5), [(4, 6), (5, 6)], lambda a, b: a @ b.T),
    Program("002_dot", "dot", (1,), [(1024,), (1024,)], lambda a, b: np.dot(a, b).reshape(1)),
    Program("map", "double", (10,), [(10,)], lambda xs: xs + xs),
    Program("stencil", "stencil", (5,), [(9,)], stencil),
    Program("split_join", "chunks", (12,), [(12,)], lambda xs: xs + xs),
    Program("split_join", "rows", (4, 3), [(2, 6)], lambda xs: (xs + xs).reshape(4, 3)),
    Program("transposes", "load", (5, 3), [(3, 5)], np.transpose),
    Program("transposes", "store", (5, 3), [(3, 5)], np.transpose),
    Program("nested_maps", "nested", (2, 3, 4), [(2, 3, 4), ()], np.subtract),
]


def test_every_file_is_in_the_table_or_only_read() -> None:
    files = {path.stem for path in SEEDS.glob("*.mlir")}
    assert files == {program.file for program in PROGRAMS} | {"000_matmul_2048", "002_matmul_1024"}


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.mlir")), ids=lambda path: path.stem)
def test_reads_and_prints_back(path: str) -> None:
    module = verified(seed(path.stem))  # type: ignore[attr-defined]
    text = module_text(module)
    assert module_text(verified(text)) == text
    assert module_text(verified(module_text(module, generic=True))) == text


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_runs_from_its_file(program: Program) -> None:
    arrays = program.arrays()
    expected = interpret(seed(program.file), program.function, arrays)
    loaded = rl.load(SEEDS / f"{program.file}.mlir", float="strict")
    getattr(loaded, program.function)(*arrays)
    assert_same_bits(arrays, expected)
    numbers = program.meaning(*arrays[1:])
    np.testing.assert_allclose(arrays[0], numbers, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
@pytest.mark.parametrize(
    ("loops", "to"),
    [
        pytest.param("scf", None, marks=pytest.mark.nightly),
        pytest.param("affine", None, marks=pytest.mark.nightly),
        ("scf", "affine"),
        ("affine", "scf"),
    ],
)
@pytest.mark.sampled(10)
def test_loop_dialects_give_the_same_bits(program: Program, loops: str, to: str | None) -> None:
    if to is not None and "{to" not in seed(program.file):
        text = seed(program.file).replace("Seq #", f'Seq {{to = "{to}"}} #')
    else:
        text = with_loops(seed(program.file), to)
    module = Compilation(verified(text), Options(loops))
    mlir.verify(module.native_text)
    checked(text, program.function, program.arrays(), loops)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
@pytest.mark.sampled(6)
def test_the_term_as_a_module_gives_the_same_bits(program: Program) -> None:
    """To a term and back to the dialect, then compiled."""
    function = function_named(verified(seed(program.file)), program.function)
    ((_, unit),) = read_units(function)
    text = module_text(program_module(unit.term, "program"))
    arrays = program.arrays()
    # A scalar that came in a buffer of length one has rank 0 in the new module.
    shaped = [a.reshape(()) if a.shape == (1,) else a for a in arrays]
    found = checked(text, "program", shaped)
    expected = interpret(seed(program.file), program.function, arrays)
    assert_same_bits([found[0].reshape(expected[0].shape)], [expected[0]])


@pytest.mark.parametrize("name", ["000_matmul_2048", "002_matmul_1024"])
@pytest.mark.parametrize("loops", LOOPS)
def test_full_sizes_are_accepted_by_mlir(name: str, loops: str) -> None:
    mlir.verify(Compilation(verified(seed(name)), Options(loops)).native_text)


def test_002_matmul_as_printed_is_rejected() -> None:
    """The talk gives both lambdas the wrong result type, and mapB the wrong last type."""
    corrected = seed("002_matmul_1024")
    printed = (
        corrected.replace(
            "%f2 = rise.lambda (%bcol : !rise.array<1024, scalar<f32>>) -> !rise.scalar<f32> {",
            "%f2 = rise.lambda (%bcol : !rise.array<1024, scalar<f32>>) -> "
            "!rise.array<1024, scalar<f32>> {",
        )
        .replace(
            "%mapB = rise.mapSeq #rise.nat<1024> #rise.array<1024, scalar<f32>> #rise.scalar<f32>",
            "%mapB = rise.mapSeq #rise.nat<1024> #rise.array<1024, scalar<f32>> "
            "#rise.array<1024, scalar<f32>>",
        )
        .replace(
            "    rise.return %result : !rise.array<1024, scalar<f32>>\n  }",
            "    rise.return %result : !rise.array<1024, array<1024, scalar<f32>>>\n  }",
        )
    )
    assert printed.count("\n") == corrected.count("\n")
    assert printed != corrected
    lines = printed.splitlines()
    with pytest.raises(UserError) as caught:
        rl.loads(printed, name="talk.mlir")
    error = caught.value
    assert error.location is not None
    assert error.location.file == "talk.mlir"
    wrong = lines[error.location.line - 1]
    assert "%f1 = rise.lambda" in wrong or "%f2 = rise.lambda" in wrong
    assert "scalar<f32>" in error.message


def test_the_listing_of_section_3_2_as_printed_is_rejected() -> None:
    """Its function type lacks a bracket."""
    text = seed("000_identity").replace("scalar<i32>> {", "scalar<i32> {")
    with pytest.raises(UserError) as caught:
        rl.loads(text)
    assert caught.value.location is not None


def test_the_dot_of_002_as_printed_is_rejected() -> None:
    """Its lambda's parameters have no types."""
    text = seed("002_dot").replace(
        "(%tuple : !rise.tuple<scalar<f32>, scalar<f32>>, %acc : !rise.scalar<f32>)",
        "(%tuple, %acc)",
    )
    with pytest.raises(UserError, match="parameter %tuple has no type"):
        rl.loads(text)


def built(
    function: Callable[..., object], output: tuple[int, ...], *inputs: tuple[int, ...]
) -> str:
    """A module whose function `program` holds the unit that `rl.build` makes."""
    types = [MemRefType(f32, shape) for shape in (output, *inputs)]
    block = Block(arg_types=types)
    out, *given = block.args
    unit = rl.build(block, out, given)(function)
    assert isinstance(unit, LoweringUnitOp)
    block.add_op(ReturnOp())
    module = ModuleOp([FuncOp("program", FunctionType.from_lists(types, []), Region(block))])
    verify_module(module)
    text = module_text(module)
    assert module_text(parse_module(text)) == text
    return text


def weighted(pairs: Value, start: float = 0.0) -> Value:
    return rl.reduce_seq(lambda acc, t: acc + t.fst * t.snd, start, pairs)


@pytest.mark.parametrize("loops", LOOPS)
def test_listing_1_builds_matmul(loops: str) -> None:
    text = built(
        lambda A, B: rl.map_seq(
            lambda arow: rl.map_seq(
                lambda bcol: weighted(rl.zip(arow, bcol)),
                rl.transpose(B),
            ),
            A,
        ),
        (7, 9), (7, 5), (5, 9),
    )  # fmt: skip
    a, b = random_array(7, 5), random_array(5, 9)
    found = checked(text, "program", [np.zeros((7, 9), np.float32), a, b], loops)
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loops", LOOPS)
def test_listing_4_builds_a_convolution(loops: str) -> None:
    text = built(
        lambda image, weights: rl.map_seq2d(
            lambda window: weighted(rl.join(rl.zip2d(window, weights))),
            rl.slide2d(3, 1, rl.pad2d(1, 1, image)),
        ),
        (6, 8), (6, 8), (3, 3),
    )  # fmt: skip
    image, weights = random_array(6, 8), random_array(3, 3)
    out = np.zeros((6, 8), np.float32)
    found = checked(text, "program", [out, image, weights], loops)
    np.testing.assert_allclose(found[0], convolve(image, weights), rtol=1e-4, atol=1e-5)
    listed = checked(seed("000_convolution"), "convolution", [out, image, weights], loops)
    assert_same_bits(found, listed)


@pytest.mark.parametrize("loops", LOOPS)
def test_listing_5_builds_a_separated_convolution(loops: str) -> None:
    def separated(image: Value, weights_h: Value, weights_v: Value) -> Value:
        vertical = rl.map_seq(
            lambda arr: rl.map_seq(lambda nbh: weighted(rl.zip(nbh, weights_v)), rl.transpose(arr)),
            rl.slide(3, 1, rl.pad2d(1, 1, image)),
        )
        return rl.map_seq(
            lambda arr: rl.map_seq(
                lambda nbh: weighted(rl.zip(nbh, weights_h)), rl.slide(3, 1, arr)
            ),
            vertical,
        )

    text = built(separated, (6, 8), (6, 8), (3,), (3,))
    arrays = [
        np.zeros((6, 8), np.float32), random_array(6, 8), random_array(3), random_array(3)
    ]  # fmt: skip
    found = checked(text, "program", arrays, loops)
    np.testing.assert_allclose(found[0], separately(*arrays[1:]), rtol=1e-4, atol=1e-5)
    listed = checked(seed("000_separated_convolution"), "separated", arrays, loops)
    assert_same_bits(found, listed)


def test_the_sobel_filter_is_separable() -> None:
    """Section 5.3: both convolutions agree, exactly on small integers."""
    image = random_array(6, 8, dtype=np.int32).astype(np.float32)
    vertical, horizontal = np.array([1, 0, -1], np.float32), np.array([1, 2, 1], np.float32)
    whole, parts = np.zeros((2, 6, 8), np.float32)
    rl.loads(seed("000_convolution")).convolution(whole, image, np.outer(vertical, horizontal))
    rl.loads(seed("000_separated_convolution")).separated(parts, image, horizontal, vertical)
    assert_same_bits([whole], [parts])
