"""Native MLIR with our dialect loaded from IRDL: what it verifies, and what it refuses."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import TypeAttribute

from riselang.compiler.compilation import Compilation
from riselang.dialects.irdl import irdl_text
from riselang.dialects.module import parse_module, verify_module
from riselang.dialects.native_form import VARIADIC_LIMIT, format_native, native_name
from riselang.dialects.rise.dialect import Rise
from riselang.native.mlir import bindings as mlir
from riselang.notation.program import parse_program
from riselang.support.errors import LimitationError, UserError
from riselang.term.to_dialect import program_module
from riselang.tools import rise_opt
from support.checking import module_of
from support.programs import seeded_program

pytestmark = pytest.mark.rotating(3)

ROOT = Path(__file__).parents[2]
SEEDS = sorted((ROOT / "examples/seeds").glob("*.mlir"))
PROGRAMS = sorted((ROOT / "examples/programs").glob("*.rise"))
TEXTS = sorted((ROOT / "tests/filecheck/dialect").glob("*.mlir"))


@cache
def irdl() -> str:
    return irdl_text(Rise)


def read(path: Path) -> ModuleOp:
    module = parse_module(path.read_text(), str(path))
    verify_module(module)
    return module


def accept(module: ModuleOp) -> None:
    mlir.verify_with_dialects(irdl(), format_native(module))


def test_every_op_type_and_attribute_is_there() -> None:
    operations = re.findall(r"irdl\.operation @(\w+)", irdl())
    assert operations == [native_name(op.name).removeprefix("rise.") for op in Rise.operations]
    assert len(set(operations)) == len(operations)
    types = {kind.name for kind in Rise.attributes if issubclass(kind, TypeAttribute)}
    attributes = {kind.name for kind in Rise.attributes} - types
    assert set(re.findall(r"irdl\.type @(\w+)", irdl())) == {n.removeprefix("rise.") for n in types}
    found = set(re.findall(r"irdl\.attribute @(\w+)", irdl()))
    assert found == {name.removeprefix("rise.") for name in attributes}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
@pytest.mark.sampled(5)
def test_native_mlir_verifies_the_seeds(path: Path) -> None:
    module = read(path)
    accept(module)
    imperative = parse_module(Compilation(module).text("imperative"))
    assert "rise.codegen." in str(imperative)
    accept(imperative)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.sampled(10)
def test_native_mlir_verifies_the_examples(path: Path) -> None:
    program = parse_program(path.read_text(), str(path))
    accept(program_module(program[path.stem], path.stem))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_native_mlir_verifies_every_op(path: Path) -> None:
    cast = '"builtin.unrealized_conversion_cast"()'
    accept(parse_module(path.read_text().replace('"test.op"()', cast), str(path)))


def test_native_mlir_verifies_random_programs() -> None:
    accept(module_of([seeded_program(seed) for seed in range(40)]))


PROGRAM = format_native(parse_module((ROOT / "examples/seeds/map.mlir").read_text()))
BROKEN = {
    "an op that there is not": (
        '"rise.map_seq"()', '"rise.map_sequence"()', "unregistered operation 'rise.map_sequence'",
    ),
    "an attribute that is missing": (" {n = ", " {k = ", 'attribute "n" is expected'),
    "an attribute of another kind": (
        '{n = #rise.nat<"10">', '{n = "10"', "expected base attribute",
    ),
    "a type of too few parameters": (
        '!rise.array<#rise.nat<"10">, !rise.scalar<f32>>', '!rise.array<#rise.nat<"10">>',
        "expected 2 type arguments, but had 1",
    ),
    "a length that is no size": (
        '#rise.nat<"10">, !rise', "10 : i32, !rise", "expected base attribute",
    ),
    "operands in the wrong place": (
        '"rise.in"(%in) {operandSegmentSizes = array<i32: 1,',
        '"rise.in"(%in) {operandSegmentSizes = array<i32: 2,', "must be equal to 0 or 1",
    ),
    "a region too few": ('"rise.lowering_unit"() ({', '"rise.lowering_unit"() ({}, {', "region"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_native_mlir_refuses(name: str) -> None:
    right, wrong, message = BROKEN[name]
    assert right in PROGRAM
    with pytest.raises(UserError, match=message) as caught:
        mlir.verify_with_dialects(irdl(), PROGRAM.replace(right, wrong, 1))
    assert caught.value.location is not None


WRONG = {
    '"rise.codegen_assign"() : () -> ()': "expects exactly 2 operands, but got 0",
    '%x = "rise.reverse"() {n = #rise.nat<"4">, t = !rise.scalar<f32>} : () -> !rise.scalar<f32>':
        "expected base type 'rise.fun' but got 'rise.scalar'",
    '%x = "rise.literal"() {value = #rise.lit<1.0 : f32, !rise.scalar<f32>>} : () -> f32':
        "'f32' does not satisfy the constraint",
    '"rise.lowering_unit"() : () -> ()': "unexpected number of regions: expected 1 but got 0",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_native_mlir_refuses_the_op(text: str) -> None:
    with pytest.raises(UserError, match=WRONG[text]):
        mlir.verify_with_dialects(irdl(), text)


def test_an_op_of_too_many_operands_is_a_known_limit() -> None:
    parts = [f"%a{position}" for position in range(VARIADIC_LIMIT + 1)]
    arguments = ", ".join(f"{part} : memref<f32>" for part in parts)
    type = "scalar<f32>"
    for _ in parts[1:]:
        type = f"tuple<scalar<f32>, {type}>"
    text = f"func.func @f({arguments}) {{\n  %x = rise.in {', '.join(parts)} : !rise.{type}\n"
    module = parse_module(text + "  return\n}")
    verify_module(module)
    with pytest.raises(LimitationError, match=r"'rise\.in' op has 17 buffers") as caught:
        format_native(module)
    assert caught.value.location is not None
    assert caught.value.location.line == 2


def test_the_tool_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    rise_opt.main(["--print-irdl"])
    assert capsys.readouterr().out == irdl()
    path = str(SEEDS[0])
    rise_opt.main([path, "-t", "native"])
    mlir.verify_with_dialects(irdl(), capsys.readouterr().out)
