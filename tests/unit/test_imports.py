"""What is imported when: nothing of the compiler before it is needed."""

from __future__ import annotations

import ast
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module
from inspect import isfunction
from pathlib import Path

import pytest

import riselang as rl
from riselang.dsl.patterns import FUNCTIONS

COMPILER = (
    "lark", "llvmlite", "rich", "torch_mlir", "riselang.api.compile", "riselang.dialects.module",
    "riselang.interpreter.evaluate", "riselang.lowering", "riselang.notation",
    "riselang.rewrite.derivation", "riselang.rewrite.rules", "riselang.rewrite.strategies",
    "xdsl.dialects.arith", "xdsl.irdl.declarative_assembly_format",
)  # fmt: skip
"""What no program needs before it is compiled."""
CACHED = """
import numpy as np
import riselang as rl

@rl.jit
def twice(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: a * 2.0)

assert twice(np.ones(8, np.float32)).sum() == 16
"""

PRODUCT = """
import numpy as np
import riselang as rl

@rl.jit
def product(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]):
    columns = b | rl.transpose
    return a | rl.map(lambda row: columns | rl.map(
        lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)))

x = np.ones((64, 64), np.float32)
assert product(x, x).sum() == 64 ** 3
"""
OTHERS = (
    "lark", "ml_dtypes", "rich", "riselang.editor", "riselang.explorer", "riselang.frontends",
    "riselang.interpreter.evaluate", "riselang.lowering.gpu", "riselang.notation",
    "riselang.rewrite.strategies.images", "riselang.rewrite.strategies.stencils",
    "riselang.tools", "xdsl.dialects.gpu", "xdsl.dialects.linalg",
)  # fmt: skip
"""What products of matrices on the CPU do not need."""


def imported(code: str, *arguments: str) -> set[str]:
    """The modules that a process has imported at the end of some code."""
    command = [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)", *arguments]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def test_nothing_is_imported_with_the_package() -> None:
    ours = {name for name in imported("import riselang") if name.startswith("riselang.")}
    few = ("start_time", "support", "support.forking", "support.garbage_collection", "version")
    assert ours == {f"riselang.{name}" for name in few}


@pytest.mark.parametrize("name", ["numpy", "xdsl", "dataclasses"])
def test_no_other_package_is_imported_with_the_package(name: str) -> None:
    assert name not in imported("import riselang; hasattr(riselang, '__wrapped__')")


@pytest.mark.rotating(4)
def test_a_kernel_in_the_cache_runs_without_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    cold = imported(CACHED)
    assert "riselang.lowering" in cold
    warm = imported(CACHED)
    assert not warm.intersection(COMPILER)


SAVED = (
    CACHED
    + """
import sys
program = twice.lower(N=8).compile()
for _ in range(2):
    program(np.ones(8, np.float32))
program.save(sys.argv[1])
"""
)
LOADED = """
import sys
import numpy as np
import riselang as rl

program = rl.load(sys.argv[1])
assert program(np.ones(8, np.float32)).sum() == 16
"""


@pytest.mark.rotating(4)
def test_a_saved_program_runs_without_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    path = str(tmp_path / "twice.kernel")
    imported(SAVED, path)
    loaded = imported(LOADED, path)
    assert not loaded.intersection({*COMPILER, "xdsl", "riselang.compiler"})


@pytest.mark.rotating(4)
def test_a_product_of_matrices_is_compiled_without_what_it_does_not_need() -> None:
    found = imported(PRODUCT)
    assert "riselang.rewrite.strategies.contractions" in found
    assert not found.intersection(OTHERS)


@pytest.mark.rotating(3)
def test_the_first_term_that_is_written_imports_the_printer() -> None:
    code = CACHED.rpartition("assert")[0] + "text = repr(twice.trace(N=4).term)\n"
    assert "riselang.notation.printer" in imported(
        code + "assert text.startswith('fun((x : 4.f32)')"
    )


@pytest.mark.rotating(3)
def test_a_decorated_function_needs_no_compiler() -> None:
    assert not imported(CACHED.rpartition("assert")[0]).intersection(COMPILER)


def test_every_name_comes_from_where_type_checkers_find_it() -> None:
    tree = ast.parse(Path(rl.__file__).read_text())
    [checked] = [node for node in tree.body if isinstance(node, ast.If) and not node.orelse][:1]
    found: dict[str, str] = {}
    for statement in checked.body:
        if isinstance(statement, ast.ImportFrom) and not statement.names[0].asname:
            found |= {alias.name: statement.module or "" for alias in statement.names}
    assert found.pop("*") == "riselang.dsl.patterns"
    found |= dict.fromkeys(FUNCTIONS, "riselang.dsl.patterns")
    assert sorted(found) == sorted(rl.__all__)
    for name, module in found.items():
        value = getattr(import_module(module), name)
        own = getattr(rl, name)
        assert own is value or (isfunction(value) and own.__wrapped__ is value)


def test_dir_has_every_name() -> None:
    assert set(rl.__all__) <= set(dir(rl))


def test_no_name_is_that_of_a_module() -> None:
    assert not {each.name for each in pkgutil.iter_modules(rl.__path__)}.intersection(rl.__all__)


def test_modules_are_attributes() -> None:
    assert "riselang.nat" in imported("import riselang; riselang.nat.Nat")


def test_what_has_a_name_here_can_be_pickled() -> None:
    for name in ("Lowered", "UserError", "Cost", "f32", "load"):
        assert pickle.loads(pickle.dumps(getattr(rl, name))) == getattr(rl, name)
