"""Running the functions of a text module, compiled and by the reference interpreter."""

import importlib.util
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

import riselang as rl
from riselang.dialects.module import make_context, parse_module, verify_module
from riselang.dialects.rise.types import FunType, RiseType, uncurry
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.lowering.passes.contract_rise_floats import ContractRiseFloatsPass
from riselang.term.from_dialect import Unit, read_units

Array = np.ndarray[Any, Any]
SEEDS = Path(__file__).parents[2] / "examples" / "seeds"
EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.rise"))
LOOPS = ("scf", "affine")
_RANDOM = np.random.default_rng(20)


@cache
def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def jitted(name: str) -> rl.Jitted:
    return getattr(module(name), name)


def seed(name: str) -> str:
    return (SEEDS / f"{name}.mlir").read_text()


def random_array(*shape: int, dtype: Any = np.float32) -> Array:
    if np.dtype(dtype).kind == "b":
        return np.asarray(_RANDOM.integers(0, 2, shape)).astype(bool)
    if np.dtype(dtype).kind == "i":
        return np.asarray(_RANDOM.integers(-9, 10, shape)).astype(dtype)
    return np.asarray(_RANDOM.uniform(-2, 2, shape)).astype(dtype)


def with_loops(text: str, dialect: str | None) -> str:
    """The program with `{to = dialect}` on every loop that says one, or on none."""
    return re.sub(r"\{to = \"\w+\"\} ", f'{{to = "{dialect}"}} ' if dialect else "", text)


def verified(text: str) -> ModuleOp:
    module = parse_module(text)
    verify_module(module)
    return module


def function_named(module: ModuleOp, name: str) -> FuncOp:
    for op in module.walk():
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            return op
    raise KeyError(name)


def interpret(text: str, name: str, arrays: Sequence[Array], float: str = "strict") -> list[Array]:
    """What the buffers hold after the function, by the reference interpreter."""
    module = verified(text)
    if float != "strict":
        ContractRiseFloatsPass().apply(make_context(), module)
    function = function_named(module, name)
    parameters = function.body.blocks[0].args
    memory: dict[SSAValue, Array] = {
        parameter: array.copy() for parameter, array in zip(parameters, arrays, strict=True)
    }
    for _, unit in read_units(function):
        _interpret_unit(unit, memory)
    return [memory[parameter] for parameter in parameters]


def _interpret_unit(unit: Unit, memory: dict[SSAValue, Array]) -> None:
    inputs = uncurry(unit.term.type)[0][: len(unit.inputs)]
    values = [
        from_buffers(type, [memory[buffer] for buffer in buffers])
        for type, buffers in zip(inputs, unit.inputs, strict=True)
    ]
    result = run_term(unit.term, values)
    type: RiseType = unit.term.type
    for _ in unit.inputs:
        assert isinstance(type, FunType)
        type = type.output
    buffers = [buffer for group in unit.outputs for buffer in group]
    stored = to_buffers(type, result)
    for buffer, array in zip(buffers, stored, strict=True):
        memory[buffer][...] = array.reshape(memory[buffer].shape)


def compiled(
    text: str, name: str, arrays: Sequence[Array], loops: str = "scf", float: str = "strict"
) -> list[Array]:
    """What the buffers hold after the function, compiled."""
    memory = [array.copy() for array in arrays]
    getattr(rl.loads(text, loops=loops, float=float), name)(*memory)
    return memory


def assert_same_bits(found: Sequence[Array], expected: Sequence[Array]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes(), f"{one}\n{other}"


def checked(text: str, name: str, arrays: Sequence[Array], loops: str = "scf") -> list[Array]:
    """The buffers after the function; compiled and interpreted they hold the same bits."""
    contracted = compiled(text, name, arrays, loops, "contract")
    assert_same_bits(contracted, interpret(text, name, arrays, "contract"))
    found = compiled(text, name, arrays, loops)
    assert_same_bits(found, interpret(text, name, arrays))
    return found
