"""C functions as patterns: types, calls from the interpreter and from compiled code, errors."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.native.llvm.linking import find_c_compiler
from riselang.support.errors import LimitationError, RiseError, UserError

SOURCE = """
#include <stdbool.h>
typedef double double4 __attribute__((vector_size(32)));
double f(double x) { return x * x + 1.0; }
double4 f4(double4 x) { return x * x + 3.0; }
double dot(long n, const double *x, const double *y) {
    double s = 0;
    for (long i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
void scale(int n, double a, const double *x, double *out) {
    for (int i = 0; i < n; i++) out[i] = a * x[i];
}
double rows(int n, int m, const double x[n][m], double out[n]) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int j = 0; j < m; j++) out[i] += x[i][j];
        total += out[i];
    }
    return total;
}
bool odd(unsigned char c) { return c & 1; }
signed char narrow(signed char c, short s) { return c + s; }
float mixed(float x, int n) { return x * n; }
typedef short short16 __attribute__((vector_size(32)));
short square(short x) { return x * x + 1; }
short16 square16(short16 x) { return x * x + 1; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("foreign")
    compiler = find_c_compiler()
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "f.c").write_text(SOURCE)
    path = folder / "libf.so"
    flags = ["-O1", "-Wno-psabi", "-shared", "-fPIC", "-o", str(path), str(folder / "f.c")]
    subprocess.run([*compiler, "-march=native", *flags], check=True)
    return str(path)


def results(function: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
    """The results of compiled code, of the interpreter, and of the program read from notation."""
    compiled = rl.jit(function, **options)
    interpreted = rl.jit(function, backend="interpret")
    text = rl.jit(function).lower().as_text("notation")
    reread = rl.loads(f"def main = {text}", name="f.rise").main
    return [compiled(*arguments), interpreted(*arguments), reread(*arguments)]


def check(function: Callable[..., Any], expected: Any, *arguments: Any) -> None:
    for result in results(function, *arguments):
        for got, wanted in zip(
            *(each if isinstance(each, tuple) else (each,) for each in (result, expected)),
            strict=True,
        ):
            np.testing.assert_array_equal(got, wanted)


def test_scalars(library: str):
    f = rl.foreign("double f(double)", library=library)
    mixed = rl.foreign("float mixed(float x, int n)", library=library)

    def scalars(x: rl.Array["N", rl.f64]):
        return x | rl.map(lambda a: f(a) * 2.0)

    def pairs(x: rl.Array["N", rl.f32], n: rl.Array["N", rl.i32]):
        return rl.zip(x, n) | rl.map(lambda p: mixed(p.fst, p.snd))

    x = np.arange(5.0)
    check(scalars, (x * x + 1) * 2, x)
    n = np.arange(-2, 3, dtype=np.int32)
    check(pairs, x.astype(np.float32) * n.astype(np.float32), x.astype(np.float32), n)


def test_short_integers_and_booleans(library: str):
    odd = rl.foreign("bool odd(unsigned char c)", library=library)
    narrow = rl.foreign("signed char narrow(signed char c, short s)", library=library)

    def odds(x: rl.Array["N", rl.u8]):
        return x | rl.map(odd)

    def sums(x: rl.Array["N", rl.i8], y: rl.Array["N", rl.i16]):
        return rl.zip(x, y) | rl.map(lambda p: narrow(p.fst, p.snd))

    check(odds, np.array([True, False, True]), np.array([255, 0, 129], np.uint8))
    x, y = np.array([-128, 127, 5], np.int8), np.array([-1, 1, -300], np.int16)
    check(sums, (x.astype(np.int32) + y).astype(np.int8), x, y)


def test_arrays(library: str):
    dot = rl.foreign("double dot(long n, const double x[n], const double y[n])", library=library)
    scale = rl.foreign(
        "void scale(int n, double a, const double x[n], double out[n])", library=library
    )
    rows = rl.foreign(
        "double rows(int n, int m, const double x[n][m], double out[n])", library=library
    )

    def normalized(x: rl.Array["N", "M", rl.f64]):
        return x | rl.map(lambda row: scale(dot(row, row), row))

    def views(x: rl.Array["N", rl.f64]):
        return scale(2.0, x | rl.map(lambda a: a + 1.0) | rl.reverse) | rl.reverse

    def both(x: rl.Array["N", "M", rl.f64]):
        return rows(x | rl.transpose)

    a = np.arange(6.0).reshape(2, 3)
    check(normalized, np.stack([(row @ row) * row for row in a]), a)
    check(views, 2 * (np.arange(4.0) + 1), np.arange(4.0))
    check(both, (np.float64(15), a.sum(axis=0)), a)


def test_types_are_checked(library: str):
    first = rl.foreign("double dot(long n, const double x[n], const double y[n])", library=library)

    def different(x: rl.Array["N", rl.f64], y: rl.Array["M", rl.f64]):
        return first(x, y)

    with pytest.raises(UserError, match=r"expected N.f64, but found M.f64"):
        rl.jit(different).lower()
    f = rl.foreign("double f(double)", library=library)

    def floats(x: rl.Array["N", rl.f32]):
        return x | rl.map(f)

    with pytest.raises(UserError, match="expected f32 -> _, but found f64 -> f64"):
        rl.jit(floats).lower(N=4)


@pytest.mark.parametrize("lanes", [4, 8])
def test_vectors(library: str, lanes: int):
    f = rl.foreign("double f(double)", library=library, vectors={4: "f4"})
    plain = rl.foreign("double f(double)", library=library)

    def squares(x: rl.Array["N", rl.f64]):
        return x | rl.map(lambda a: f(a) + 1.0)

    def plain_squares(x: rl.Array["N", rl.f64]):
        return x | rl.map(lambda a: plain(a) + 1.0)

    x = np.arange(16.0)
    strategy = st.top_down(st.vectorize(lanes))
    # The variant of this library adds 3 instead of 1, which shows that it is called; LLVM calls it
    # for four of eight lanes at a time.
    added = 4
    program = rl.jit(squares, strategy=strategy)
    np.testing.assert_array_equal(program(x), x * x + added)
    module = program.lower(N=16).as_text("rise")
    out = np.zeros(16)
    rl.loads(module).squares(out, x)
    np.testing.assert_array_equal(out, x * x + added)
    program = rl.jit(plain_squares, strategy=strategy)
    np.testing.assert_array_equal(program(x), x * x + 2)


def test_llvm_calls_vector_variants(library: str):
    f = rl.foreign("double f(double)", library=library, vectors={4: "f4"})

    def squares(x: rl.Array["N", rl.f64]):
        return x | rl.map(f)

    text = rl.jit(squares).lower(N=64).as_text("llvm")
    assert '"vector-function-abi-variant"="_ZGV_LLVM_N4v_' in text
    assert "memory(none)" in text


def test_vector_variants_of_functions_of_short_integers(library: str):
    """The function gets ints, but its variant a vector of shorts: LLVM does not call it."""
    square = rl.foreign("short square(short)", library=library, vectors={16: "square16"})

    def squares(x: rl.Array["N", rl.i16]):
        return x | rl.map(square)

    x = np.arange(-40, 56, dtype=np.int16)
    for strategy in (None, st.top_down(st.vectorize(16))):
        program = rl.jit(squares, **({"strategy": strategy} if strategy else {}))
        np.testing.assert_array_equal(program(x), x * x + 1)
    with pytest.raises(UserError, match="C has no vectors of bool"):
        rl.foreign("bool odd(unsigned char)", library=library, vectors={16: "odd16"})


def test_several_declarations_of_a_function(library: str):
    """Those with the same C types may differ in what is a length; others are refused."""
    declaration = "void scale({0} n, double a, const double x[{1}], double out[{1}])"
    scale, scale4, other = (
        rl.foreign(declaration.format(*each), library=library)
        for each in (("int", "n"), ("int", "4"), ("long", "n"))
    )

    def twice(x: rl.Array[4, rl.f64]):
        return scale4(4, 3.0, scale(2.0, x))

    def different(x: rl.Array[4, rl.f64]):
        return other(3.0, scale(2.0, x))

    check(twice, 6 * np.arange(4.0), np.arange(4.0))
    with pytest.raises(UserError, match="another declaration of the C function scale") as caught:
        rl.jit(different)(np.arange(4.0))
    assert caught.value.location is not None


def test_vector_types_without_lanes_in_registers(library: str):
    odd = rl.foreign("bool odd(unsigned char c)", library=library)

    def odds(x: rl.Array["N", rl.u8]):
        return x | rl.map(odd)

    x = np.arange(16, dtype=np.uint8)
    program = rl.jit(odds, strategy=st.top_down(st.vectorize(8)))
    np.testing.assert_array_equal(program(x), x % 2 == 1)


def test_mlir_text_is_the_same_program(library: str):
    scale = rl.foreign(
        "void scale(int n, double a, const double x[n], double out[n])", library=library
    )

    def doubled(x: rl.Array["N", rl.f64]):
        return scale(2.0, x)

    for stage in ("rise", "imperative", "affine"):
        module = rl.loads(rl.jit(doubled).lower(N=4).as_text(stage))
        out = np.zeros(4)
        module.doubled(out, np.arange(4.0))
        np.testing.assert_array_equal(out, 2 * np.arange(4.0))


def test_library_and_variants_are_in_the_cache_key(library: str, tmp_path: Path):
    copy = tmp_path / "libother.so"
    copy.write_bytes(Path(library).read_bytes())
    variants: list[Any] = [
        rl.foreign("double f(double)", library=library),
        rl.foreign("double f(double)", library=copy),
        rl.foreign("double f(double)", library=library, vectors={4: "f4"}),
    ]
    assert len(set(map(_key, variants))) == 3


def _key(f: Any) -> str:
    def squares(x: rl.Array["N", rl.f64]):
        return x | rl.map(f)

    return rl.jit(squares).lower(N=4).key


def test_objects_call_c_functions_by_their_names(library: str, tmp_path: Path):
    from riselang.tools import rise

    source = tmp_path / "p.rise"
    source.write_text(
        f'def main = fun((x : 3.f64), x |> map(foreign("double f(double)", "{library}")))'
    )
    shared = tmp_path / "p.so"
    rise.main(["compile", str(source), "-o", str(shared)])
    out = np.zeros(3)
    loaded: Any = rl.load(shared)
    loaded.main(out, np.arange(3.0))
    np.testing.assert_array_equal(out, [1.0, 2.0, 5.0])
    header = tmp_path / "p.h"
    rise.main(["compile", str(source), "-o", str(header)])
    assert library in header.read_text()


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("complex f(double)", "the result has the unknown type 'complex'"),
        ("void *f(double)", r"the result has the unknown type 'void \*'"),
        ("struct s f(double)", "the result has the unknown type 'struct'"),
        ("double f(const double *x)", "parameter 1 is a pointer, which has no length"),
        ("double f(const double x[])", "the array x needs a length"),
        ("double f(const double x[n])", "the length n is not a parameter"),
        ("double f(double n, const double x[n])", "the length n must be an integer"),
        ("void f(long n, const double x[n])", "the function returns nothing"),
        ("void f(long n, double x, double out[n])", "the size n is the length of no array"),
        ("double f()", "takes no arguments"),
        ("double f(void)", "takes no arguments"),
        ("double f(double, ...)", "variable number of arguments"),
        ("double f(double x, double x)", "two parameters have the name 'x'"),
        ("double f(void x)", "parameter 1 has the type void"),
        ("double f(double", "expected ',', but found the end"),
        ("double f(double) 1", "expected the end of the declaration"),
        ("double (double)", "expected the name of the function"),
    ],
)
def test_declarations_that_are_refused(library: str, declaration: str, message: str):
    with pytest.raises(UserError, match=message):
        rl.foreign(declaration, library=library)
    text = f'fun((x : 2.f64), x |> map(foreign("{declaration}", "{library}")))'
    with pytest.raises(UserError, match=message) as caught:
        rl.loads(text, name="f.rise")
    assert caught.value.location is not None


@pytest.mark.parametrize(
    ("declaration", "type"),
    [
        ("extern float f(unsigned long int a, signed char b);", "u64 -> i8 -> f32"),
        ("_Bool f(unsigned a, long long int b, short c)", "u32 -> i64 -> i16 -> i1"),
        ("int f(const int t[static restrict 3])", "3.i32 -> i32"),
        ("void f(int s, const float x[s][2], float *restrict y)", None),
        ("double f(int s, const double x[s], double t[s])", "s_.f64 -> (f64 x s_.f64)"),
    ],
)
def test_types_of_declarations(declaration: str, type: str | None):
    from riselang.dialects.rise.foreign_functions import DeclarationError, foreign_spec

    if type is None:
        with pytest.raises(DeclarationError):
            foreign_spec(declaration)
    else:
        assert repr(foreign_spec(declaration)).endswith(f" : {type}")


def test_libraries_and_symbols_that_are_missing(library: str):
    with pytest.raises(UserError, match=r"there is no library '/no/lib\.so'"):
        rl.foreign("double f(double)", library="/no/lib.so")
    with pytest.raises(UserError, match="does not define the function 'nope'"):
        rl.foreign("double nope(double)", library=library)
    with pytest.raises(UserError, match="does not define the function 'f8'"):
        rl.foreign("double f(double)", library=library, vectors={8: "f8"})
    with pytest.raises(UserError, match="this process does not define the function 'nope'"):
        rl.foreign("double nope(double)")
    with pytest.raises(UserError, match="only a function of scalars"):
        rl.foreign("double dot(long n, const double x[n], const double y[n])", library, {4: "dot4"})
    with pytest.raises(UserError, match="expected a C declaration"):
        rl.foreign(3)  # type: ignore[arg-type]
    text = f'fun((x : 2.f64), x |> map(foreign("double nope(double)", "{library}")))'
    for backend in ("compile", "interpret"):
        with pytest.raises(UserError, match="does not define the function 'nope'") as caught:
            rl.loads(text, name="f.rise", backend=backend).main(np.zeros(2))
        assert caught.value.location is not None


def test_derivatives_and_gpus_are_refused(library: str):
    f = rl.foreign("double f(double)", library=library)

    def gradient(x: rl.Array["N", rl.f64]):
        return rl.grad(lambda y: y | rl.map(f) | rl.reduce(rl.add, 0.0))(x)

    def squares(x: rl.Array["N", rl.f64]):
        return x | rl.map(f)

    with pytest.raises(LimitationError, match="the C function f has no derivative"):
        rl.jit(gradient).lower(N=4)
    with pytest.raises(RiseError, match="the C function f runs on the CPU"):
        rl.jit(squares, loops="gpu").lower(N=4).as_text("imperative")


def test_a_custom_derivative(library: str):
    f = rl.foreign("double f(double)", library=library)

    @rl.custom_vjp
    def square(x: Any) -> Any:
        return f(x)

    square.defvjp(lambda x: (f(x), x), lambda x, cotangent: (2.0 * x * cotangent,))

    def gradient(x: rl.Array["N", rl.f64]):
        return rl.grad(lambda y: y | rl.map(square) | rl.reduce(rl.add, 0.0))(x)

    np.testing.assert_array_equal(rl.jit(gradient)(np.arange(4.0)), 2 * np.arange(4.0))
