"""From the dialect to terms and back."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import riselang as rl
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.dialects.rise.pattern_registry import LET, PAD, TRANSPOSE
from riselang.dialects.rise.types import array, f32
from riselang.interpreter.evaluate import run_term
from riselang.nat import Nat
from riselang.support.errors import LimitationError, UserError
from riselang.term.from_dialect import Unit, read_units
from riselang.term.nodes import Apply, Bound, Embed, Free, Lambda, Pattern, Scalar, Term
from riselang.term.to_dialect import program_module


def read(text: str) -> ModuleOp:
    module = parse_module(text)
    verify_module(module)
    return module


def units_of(text: str) -> list[Unit]:
    functions = [op for op in read(text).walk() if isinstance(op, FuncOp)]
    return [unit for function in functions for _, unit in read_units(function)]


def unit_of(text: str) -> Unit:
    (unit,) = units_of(text)
    return unit


def subterms(term: Term) -> list[Term]:
    found: list[Term] = []
    stack = [term]
    while stack:
        found.append(stack.pop())
        stack.extend(found[-1].children)
    return found


def assert_comes_back(term: Term, results: int = 1) -> None:
    """Printing the term as a module and reading that gives the same term and the same text."""
    module = program_module(term, "program", results)
    verify_module(module)
    text = module_text(module)
    again = unit_of(text)
    assert again.term == term
    assert module_text(program_module(again.term, "program", results)) == text


def converted(term: Term) -> Term:
    """The term after the way to the dialect and back."""
    (function,) = program_module(term, "program").ops
    ((_, unit),) = read_units(function)
    return unit.term


def on_numbers(body: str, inputs: int = 2) -> str:
    """A function from f32 inputs `%x0`, `%x1`, ... to `%result`."""
    names = range(inputs)
    parameters = ", ".join(f"%m{number} : memref<f32>" for number in names)
    read_inputs = "\n".join(f"%x{i} = rise.in %m{i} : !rise.scalar<f32>" for i in names)
    return f"""
    func.func @f(%out : memref<f32>, {parameters}) {{
      {read_inputs}
      {body}
      rise.out %out <- %result
      func.return
    }}
    """


SCALAR_EMBED = """
      %result = rise.embed(%x0, %x1) {
        %one = arith.constant 1.0 : f32
        %sum = arith.addf %x0, %one : f32
        %less = arith.cmpf olt, %sum, %x1 : f32
        %chosen = arith.select %less, %sum, %x1 : f32
        %root = math.sqrt %chosen : f32
        rise.return %root : f32
      } : !rise.scalar<f32>
"""


def test_an_embed_of_arith_and_math_is_scalar_operations() -> None:
    term = unit_of(on_numbers(SCALAR_EMBED)).term
    ops = [t.op for t in subterms(term) if isinstance(t, Scalar)]
    assert set(ops) == {"math.sqrt", "arith.select", "arith.cmpf", "arith.addf"}
    assert not any(isinstance(t, Embed) for t in subterms(term))
    assert_comes_back(term)


OPAQUE_EMBED = """
      %result = rise.embed(%x0, %x1) {
        %less = arith.cmpf olt, %x0, %x1 : f32
        %chosen = scf.if %less -> (f32) {
          scf.yield %x1 : f32
        } else {
          %negated = arith.negf %x0 : f32
          scf.yield %negated : f32
        }
        rise.return %chosen : f32
      } : !rise.scalar<f32>
"""


def test_an_embed_of_other_ops_is_an_opaque_leaf() -> None:
    term = unit_of(on_numbers(OPAQUE_EMBED)).term
    (embed,) = [t for t in subterms(term) if isinstance(t, Embed)]
    assert len(embed.operands) == 2
    assert not any(isinstance(t, Scalar) for t in subterms(term))
    assert_comes_back(term)


def test_opaque_embeds_are_equal_by_their_text() -> None:
    one = unit_of(on_numbers(OPAQUE_EMBED)).term
    assert one == unit_of(on_numbers(OPAQUE_EMBED)).term
    assert one != unit_of(on_numbers(OPAQUE_EMBED.replace("olt", "ole"))).term


def test_names_inside_an_opaque_embed_do_not_count() -> None:
    renamed = OPAQUE_EMBED.replace("%chosen", "%other")
    assert unit_of(on_numbers(OPAQUE_EMBED)).term == unit_of(on_numbers(renamed)).term


def test_opaque_embeds_run() -> None:
    out = np.zeros((), np.float32)
    program = rl.loads(on_numbers(OPAQUE_EMBED))
    program.f(out, np.float32(3).reshape(()), np.float32(2).reshape(()))
    assert out == -3
    program.f(out, np.float32(1).reshape(()), np.float32(2).reshape(()))
    assert out == 2


def test_the_interpreter_refuses_opaque_embeds() -> None:
    with pytest.raises(LimitationError, match="embed"):
        run_term(unit_of(on_numbers(OPAQUE_EMBED)).term, [np.float32(1), np.float32(2)])


def test_an_embed_that_gives_back_its_operand() -> None:
    body = """
      %result = rise.embed(%x0, %x1) {
        rise.return %x1 : f32
      } : !rise.scalar<f32>
    """
    term = unit_of(on_numbers(body)).term
    assert isinstance(term, Lambda)
    assert isinstance(term.body, Lambda)
    assert isinstance(term.body.body, Bound)
    assert_comes_back(term)


def test_shared_values_become_lets() -> None:
    body = """
      %s = rise.embed(%x0, %x1) {
        %s = arith.addf %x0, %x1 : f32
        rise.return %s : f32
      } : !rise.scalar<f32>
      %f = rise.lambda (%a : !rise.scalar<f32>, %b : !rise.scalar<f32>) -> !rise.scalar<f32> {
        %p = rise.embed(%a, %b) {
          %p = arith.mulf %a, %b : f32
          rise.return %p : f32
        } : !rise.scalar<f32>
        rise.return %p : !rise.scalar<f32>
      }
      %result = rise.apply %f, %s, %s
    """
    term = unit_of(on_numbers(body)).term
    lets = [t for t in subterms(term) if isinstance(t, Pattern) and t.spec is LET]
    assert len(lets) == 1
    assert_comes_back(term)


PATTERNS = """
    func.func @f(%out : memref<2x4xf32>, %in : memref<8xf32>) {
      rise.lowering_unit {
        %xs = rise.in %in : !rise.array<8, scalar<f32>>
        %split = rise.split #rise.nat<2> #rise.nat<4> #rise.scalar<f32>
        %pairs = rise.apply %split, %xs
        %f = rise.lambda (%p : !rise.array<2, scalar<f32>>) -> !rise.array<2, scalar<f32>> {
          %id = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
            rise.return %x : !rise.scalar<f32>
          }
          %inner = rise.mapSeq {to = "scf"} #rise.nat<2> #rise.scalar<f32> #rise.scalar<f32>
          %g = rise.apply %inner, %id
          %r = rise.apply %g, %p
          rise.return %r : !rise.array<2, scalar<f32>>
        }
        %map = rise.mapPar {to = "affine"} #rise.nat<4> #rise.array<2, scalar<f32>>
          #rise.array<2, scalar<f32>>
        %rows = rise.apply %map, %f, %pairs
        %t = rise.transpose #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
        %columns = rise.apply %t, %rows
        rise.out %out <- %columns
        rise.return
      }
      func.return
    }
"""


def test_patterns_come_back_with_their_loop_dialects() -> None:
    term = unit_of(PATTERNS).term
    targets = {t.spec.name: t.to for t in subterms(term) if isinstance(t, Pattern)}
    assert targets["mapPar"] == "affine"
    assert targets["mapSeq"] == "scf"
    assert_comes_back(term)


def test_names_and_locations_travel_along() -> None:
    term = unit_of(PATTERNS).term
    names = {t.name for t in subterms(term) if isinstance(t, Lambda)}
    assert names == {"in", "p", "x"}
    transposes = [t for t in subterms(term) if isinstance(t, Pattern) and t.spec is TRANSPOSE]
    assert transposes[0].location is not None
    assert transposes[0].location.line == 1 + PATTERNS.splitlines().index(
        "        %t = rise.transpose #rise.nat<4> #rise.nat<2> #rise.scalar<f32>"
    )


def test_several_units_and_functions() -> None:
    def function(name: str, *units: str) -> str:
        body = "\n".join(
            f"rise.lowering_unit {{ %x = rise.in {a} : !rise.scalar<f32> rise.out {b} <- %x "
            "rise.return }"
            for b, a in (unit.split("<-") for unit in units)
        )
        return f"func.func @{name}(%a : memref<f32>, %b : memref<f32>) {{ {body} func.return }}\n"

    found = units_of(function("f", "%a<-%b", "%b<-%a") + function("g", "%a<-%b") + function("h"))
    assert len(found) == 3
    assert [unit.inputs[0][0].name_hint for unit in found] == ["b", "a", "b"]
    assert [unit.outputs[0][0].name_hint for unit in found] == ["a", "b", "a"]
    assert len({unit.term for unit in found}) == 1


def test_a_unit_with_two_outs_gives_a_tuple() -> None:
    text = """
    func.func @f(%a : memref<f32>, %b : memref<i32>, %x : memref<f32>, %y : memref<i32>) {
      rise.lowering_unit {
        %p = rise.in %x : !rise.scalar<f32>
        %q = rise.in %y : !rise.scalar<i32>
        rise.out %b <- %q
        rise.out %a <- %p
        rise.return
      }
      func.return
    }
    """
    unit = unit_of(text)
    assert len(unit.outputs) == 2
    assert run_term(unit.term, [1.5, 7]) == (7, 1.5)
    assert_comes_back(unit.term, results=2)


def test_a_value_of_another_program_is_refused() -> None:
    text = """
    func.func @f(%a : memref<f32>, %b : memref<f32>) {
      %x = rise.in %b : !rise.scalar<f32>
      rise.lowering_unit {
        %f = rise.lambda (%y : !rise.scalar<f32>) -> !rise.scalar<f32> {
          rise.return %y : !rise.scalar<f32>
        }
        %z = rise.apply %f, %x
        rise.out %a <- %z
        rise.return
      }
      func.return
    }
    """
    with pytest.raises(UserError) as caught:
        unit_of(text)
    assert "'rise.apply' op uses a value that is not part of this program" in str(caught.value)
    assert caught.value.location is not None
    assert caught.value.location.line == 8


def test_an_input_of_another_program_that_is_stored_is_refused() -> None:
    text = """
    func.func @f(%a : memref<f32>, %b : memref<f32>) {
      %x = rise.in %b : !rise.scalar<f32>
      rise.lowering_unit {
        rise.out %a <- %x
        rise.return
      }
      func.return
    }
    """
    with pytest.raises(UserError) as caught:
        unit_of(text)
    assert caught.value.location is not None
    assert caught.value.location.line == 5


def test_a_free_variable_is_refused() -> None:
    with pytest.raises(LimitationError, match="free variable y"):
        program_module(Lambda("x", f32, Free("y", f32)), "program")


def chain(length: int) -> Term:
    """`length` patterns on an array of three, padded to stay a view."""
    term: Term = Bound(0, array(3, array(2, f32)))
    shape = (3, 2)
    for _ in range(length):
        pattern = Pattern(TRANSPOSE, (Nat.const(shape[0]), Nat.const(shape[1]), f32))
        term = Apply(pattern, term)
        shape = (shape[1], shape[0])
    return Lambda("x", array(3, array(2, f32)), term)


@pytest.mark.rotating(3)
def test_five_thousand_patterns_convert_and_run() -> None:
    term = chain(5_000)
    assert converted(term) == term
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert run_term(term, [rows]) == rows


@pytest.mark.rotating(4)
def test_five_thousand_scalar_operations_convert_and_run() -> None:
    body: Term = Bound(0, f32)
    for _ in range(5_000):
        body = Scalar("arith.negf", [body], f32)
    term = Lambda("x", f32, body)
    assert converted(term) == term
    assert run_term(term, [np.float32(1.5)]) == 1.5


def test_five_thousand_lets_convert_and_run() -> None:
    def nested(length: int) -> Term:
        body: Term = Bound(0, f32)
        for _ in range(length):
            step = Scalar("arith.negf", [Bound(0, f32)], f32)
            let = Pattern(LET, (f32, f32))
            body = Apply(Apply(let, step), Lambda("shared", f32, body))
        return Lambda("x", f32, body)

    assert run_term(nested(5_000), [np.float32(2.5)]) == 2.5


def test_a_let_of_one_use_is_canonically_no_let() -> None:
    """Reading gives the canonical form: a value with a single use stands where it is used."""
    step = Scalar("arith.negf", [Bound(0, f32)], f32)
    let = Pattern(LET, (f32, f32))
    term = Lambda("x", f32, Apply(Apply(let, step), Lambda("y", f32, Bound(0, f32))))
    again = unit_of(module_text(program_module(term, "program"))).term
    assert again == Lambda("x", f32, step)


def test_pads_come_back_in_the_order_of_their_sizes() -> None:
    pad = Pattern(PAD, (Nat.const(3), Nat.const(1), Nat.const(2), f32))
    term = Lambda("x", array(3, f32), Apply(pad, Bound(0, array(3, f32))))
    assert_comes_back(term)
    assert run_term(term, [[1, 2, 3]]) == [1, 1, 2, 3, 3, 3]
