"""One kernel for all sizes: sort, windows, checks and the others, between protected pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.dialects.module import module_text
from riselang.notation.program import parse_term
from riselang.support.errors import OutOfRangeError
from riselang.term.to_dialect import program_module
from support.guarded import Call, Refused, Request, Runner

pytestmark = pytest.mark.rotating(4)

Array = np.ndarray[Any, Any]

PROGRAMS: dict[str, tuple[str, list[int]]] = {
    "sort": ("fun(x : N.f32, x |> sort(fun((a, b), a < b)))", [0, 1, 2, 9, 33]),
    "sort of rows": (
        "fun(x : N.f32, x |> slide(2, 1)"
        " |> sort(fun((a, b), reduce(add, 0.0, a) < reduce(add, 0.0, b))))",
        [2, 3, 12],
    ),
    "reducePar": ("fun(x : N.f32, x |> reducePar(add, 0.5))", [0, 1, 4096, 4097, 9000]),
    "circularBuffer": (
        "fun(x : N.f32, x |> circularBuffer(4, 3, fun(v, v * v)) |> mapSeq(reduce(add, 0.0)))",
        [2, 3, 4, 20],
    ),
    "rotateValues": (
        "fun(x : N.f32, x |> rotateValues(3, fun(v, v * v)) |> mapSeq(reduce(add, 0.0)))",
        [2, 3, 20],
    ),
    "windows in any order": (
        "fun(x : N.f32, x |> circularBuffer(4, 3, fun(v, v * v)) |> mapPar(reduce(add, 0.0)))",
        [2, 20],
    ),
    "vectors": ("fun(x : N.f32, x |> asVector(4) |> reverse |> asScalar)", [0, 4, 12]),
    "repeated": ("fun(x : N.f32, x |> map(vectorFromScalar(3)) |> asScalar)", [0, 1, 5]),
    "lanes": ("fun(x : N.f32, x |> asVector(4) |> map(fun(v, v * v)) |> asScalar)", [0, 4, 12]),
    "while": (
        "fun(x : N.f32, x |> while(fun(v, reduce(add, 0.0, v) < 500.0), map(fun(a, a * a + 1.0))))",
        [1, 7],
    ),
    "scan of rows": (
        "fun(x : N.f32, x |> scan(fun((row, e), row |> map(fun(v, v * e))), x))", [0, 1, 6],
    ),
    "parallel in parallel": (
        "fun(x : N.f32, x |> mapPar(fun(a, x |> mapPar(fun(b, a * b)) |> scan(add, 0.0))))", [0, 6],
    ),
    "checkIdx": (
        "fun(x : N.f32, generate(fun(i : idx[N], x |> at(checkIdx(N, fromIdx(i))))))", [0, 5],
    ),
}  # fmt: skip
CASES = [(name, size) for name, (_, sizes) in PROGRAMS.items() for size in sizes]


def kernel(text: str, backend: str = "compile") -> TermKernel:
    made = TermKernel("f", parse_term(text), backend)
    made.symbolic = True
    return made


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_gives_what_the_interpreter_gives(name: str) -> None:
    text, sizes = PROGRAMS[name]
    compiled, reference = kernel(text), kernel(text, "interpret")
    for size in sizes:
        x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
        assert np.array_equal(compiled(x), reference(x)), size
    assert "?" in compiled.lower().as_text("affine")


EMPTY = {
    name: f"fun((x : N.f32, k : M.i64), {body})"
    for name, body in {
        "at": "k |> map(fun(i, x |> at(checkIdx(N, i))))",
        "at of a view": "k |> map(fun(i, x |> reverse |> map(neg) |> at(checkIdx(N, i))))",
        "gather": "gather(k |> map(checkIdx(N)), x)",
        "scatter": "scatter(k |> map(checkIdx(N)), x, k |> map(fun(i, 1.0)))",
        "scatterWith": "scatterWith(add, k |> map(checkIdx(N)), x, k |> map(fun(i, 1.0)))",
    }.items()
}


@pytest.mark.rotating(5)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_an_index_into_an_array_that_is_empty_at_the_call(loops: str) -> None:
    """Nothing is read or written of it; without indices there is no error."""
    runner = Runner({"RISE_NUM_THREADS": "2"})
    for name, program in EMPTY.items():
        text = module_text(program_module(parse_term(program), "f"))
        x, k = np.zeros(0, np.float32), np.array([0, 7, -3], np.int64)
        out = np.zeros(0 if name.startswith("scatter") else 3, np.float32)
        with pytest.raises(Refused, match=r"checkIdx: the index 0 is not in \[0, 0\)"):
            runner.run(Request(text, loops, [Call("f", [out], [x, k])]))
        none = Call("f", [np.zeros(0, np.float32)], [x, np.zeros(0, np.int64)])
        runner.run(Request(text, loops, [none]))
    runner.close()


@pytest.mark.parametrize("name", EMPTY)
def test_the_error_names_the_bound_of_the_call(name: str) -> None:
    x, k = np.arange(4, dtype=np.float32), np.array([1, 4, -1], np.int64)
    messages: list[str] = []
    for backend in ("compile", "interpret"):
        with pytest.raises(OutOfRangeError) as caught:
            kernel(EMPTY[name], backend)(x, k)
        messages.append(caught.value.message)
    assert messages == ["checkIdx: the index 4 is not in [0, 4)"] * 2
    assert isinstance(caught.value, rl.UserError)


def test_a_store_into_an_array_that_may_be_empty_is_guarded() -> None:
    """Its memory is a temporary, whose end no page protects."""
    text = kernel(EMPTY["scatter"]).lower().as_text("affine")
    assert "arith.cmpi sge" in text
    clamped = EMPTY["scatter"].replace("checkIdx", "clampIdx")
    assert "arith.cmpi sge" not in kernel(clamped).lower().as_text("affine")
