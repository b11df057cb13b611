"""The normal form: what construction simplifies, and what it refuses."""

import pickle
import subprocess
import sys

import pytest

from riselang.nat import (
    FloorDiv,
    Min,
    Mod,
    Nat,
    NatError,
    Variable,
    as_nat,
    nat_max,
    nat_min,
    parse_nat,
)

N, M, K, X = (Nat.var(name) for name in "NMKx")


@pytest.mark.parametrize(
    ("nat", "expected"),
    [
        (N + M, M + N),
        (N + N, N * 2),
        ((N + 1) * (N - 1), N * N - 1),
        (N - N, Nat.const(0)),
        (2 - N, -N + 2),
        (3 * N - N * 3 + 7, Nat.const(7)),
    ],
)
def test_polynomials_have_one_form(nat: Nat, expected: Nat) -> None:
    assert nat == expected
    assert hash(nat) == hash(expected)


@pytest.mark.parametrize(
    ("nat", "expected"),
    [
        (Nat.const(7) // 2, Nat.const(3)),
        (Nat.const(-7) // 2, Nat.const(-4)),
        (Nat.const(-7) % 2, Nat.const(1)),
        (N // 1, N),
        (N % 1, Nat.const(0)),
        (N // N, Nat.const(1)),
        (N % N, Nat.const(0)),
        (4 * N // 4, N),
        ((4 * N + 8 * M + 3) // 4, N + 2 * M),
        (N * M // M, N),
        ((N * M + K) // M, N + K // M),
        (N * M % M, Nat.const(0)),
        ((N * M + K) % M, K % M),
        ((4 * N + 5) % 4, Nat.const(1)),
        (X // 2 // 3, X // 6),
        ((X // 2 + 1) // 3, (X + 2) // 6),
        (X % 12 % 4, X % 4),
        (2 * N // 4, N // 2),
        ((2 * N + 1) // 4, N // 2),
        ((2 * N + 1) % 4, N % 2 * 2 + 1),
        (N * K // (M * K), N // M),
        (N * K % (M * K), K * (N % M)),
        ((N - 1) * M // (M * 2), (N + 1) // 2 - 1),
        ((N - 1) // 4 + 1, (N + 3) // 4),
        ((N * M + N + K) // (M + 1), N + K // (M + 1)),
        ((N - N % 4) // 4, N // 4),
        (3 // (M * 4), Nat.const(0)),
    ],
)
def test_division_simplifies(nat: Nat, expected: Nat) -> None:
    assert nat == expected


@pytest.mark.parametrize(
    ("nat", "expected"),
    [
        (X // M * M + X % M, X),
        (X // 4 * 4 + X % 4, X),
        (X // M * M * K * 3 + X % M * K * 3 + 4, X * K * 3 + 4),
        ((X - 1) // 4 * 4 + (X - 1) % 4, X - 1),
        (X // 12 * 12 + X // 4 % 3 * 4 + X % 4, X),
        (X // (M + 1) * (M + 1) + X % (M + 1), X),
    ],
)
def test_quotient_and_remainder_recombine(nat: Nat, expected: Nat) -> None:
    assert nat == expected


def test_recombination_needs_matching_coefficients() -> None:
    assert str(X // 4 * 8 + X % 4) == "(x floordiv 4) * 8 + x mod 4"


@pytest.mark.parametrize(
    ("nat", "expected"),
    [
        (nat_min(3, 5), Nat.const(3)),
        (nat_max(3, 5), Nat.const(5)),
        (nat_min(N, N), N),
        (nat_min(N, N + 1), N),
        (nat_max(N - 1, N + 1, N), N + 1),
        (nat_min(N, nat_min(M, 4), 7), nat_min(4, M, N)),
        (nat_max(N), N),
    ],
)
def test_extrema_simplify(nat: Nat, expected: Nat) -> None:
    assert nat == expected


def test_extrema_of_nothing() -> None:
    with pytest.raises(NatError, match="of nothing"):
        nat_min()


def test_constants() -> None:
    assert Nat.const(5).is_constant
    assert Nat.const(5).constant == 5
    assert Nat.const(5) == 5
    assert hash(Nat.const(5)) == hash(5)
    assert not N.is_constant
    with pytest.raises(NatError, match="'N' is not a constant"):
        _ = N.constant


def test_a_natural_is_not_equal_to_other_things() -> None:
    assert Nat.const(5) != "5"
    assert N != 5


@pytest.mark.parametrize("divisor", [0, -2])
def test_constant_divisors_must_be_positive(divisor: int) -> None:
    with pytest.raises(NatError, match="division by"):
        _ = N // divisor
    with pytest.raises(NatError, match="division by"):
        _ = N % divisor


def test_a_product_of_mods_has_one_remainder() -> None:
    remainder = Nat.const(1) % N
    assert remainder * remainder % N == remainder
    assert str(remainder * remainder * remainder % N) == "1 mod N"


@pytest.mark.parametrize("name", ["", "4", "a b", "mod", "floordiv", "min", "max", "N+1"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(NatError, match="not a name"):
        Nat.var(name)


@pytest.mark.parametrize("name", ["N", "?n", "$i", "_x", "a.b", "n_1?", "mods"])
def test_names_that_are_accepted(name: str) -> None:
    assert parse_nat(name) == Nat.var(name)


def test_as_nat_takes_what_users_write() -> None:
    assert as_nat(4) == Nat.const(4)
    assert as_nat("N * 4") == N * 4
    assert as_nat(N) is N
    assert str(as_nat(True)) == "1"
    with pytest.raises(TypeError):
        as_nat(1.5)  # pyright: ignore[reportArgumentType]


def test_walking_the_structure() -> None:
    nat = N * M * 3 - X // 4 + 7
    assert nat.terms() == (
        (3, ((Variable("M"), 1), (Variable("N"), 1))),
        (-1, ((FloorDiv(X, Nat.const(4)), 1),)),
        (7, ()),
    )
    assert (X % 4).atom == Mod(X, Nat.const(4))
    assert nat_min(N, 4).atom == Min((N, Nat.const(4)))
    assert (N + 1).atom is None


def test_variables_are_found_inside_atoms() -> None:
    nat = nat_min(N // M, K) * X
    assert nat.variables == {"N", "M", "K", "x"}
    assert Nat.const(4).variables == frozenset()


def test_substitution_is_simultaneous_and_normalises() -> None:
    assert (N + M * 2).substitute({"N": M, "M": N}) == M + N * 2
    assert ((X * 6 + K) // M).substitute({"M": 6, "K": 3}) == X
    assert nat_min(N, M).substitute({"M": N + 1}) == N
    assert N.substitute({"M": 4}) is N


def test_evaluation() -> None:
    nat = (N * N - 1) // 4 + nat_max(N, M) + (M - 1) % 3
    assert nat.evaluate({"N": 5, "M": 3}) == 6 + 5 + 2
    with pytest.raises(NatError, match="no value for 'N'"):
        nat.evaluate({"M": 3})
    with pytest.raises(NatError, match="divisor 'M' is 0"):
        (N // M).evaluate({"N": 4, "M": 0})


def test_degree_and_linear_parts() -> None:
    assert (N * N * M + N).degree_in("N") == 2
    assert (N // 2).degree_in("N") == 0
    assert (N * M + N * 3 + K).split_linear(Variable("N")) == (M + 3, K)
    assert (N * N).split_linear(Variable("N")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", True),
        ("$i * 4 + N + 1", True),
        ("($i + N) floordiv 4 - $i mod 3", True),
        ("($i floordiv 4 + $j) mod 8", True),
        ("$i * N", False),
        ("$i * $i", False),
        ("$i floordiv N", False),
        ("($i * N) mod 4", False),
        ("min($i, 4)", False),
    ],
)
def test_affine_expressions(text: str, expected: bool) -> None:
    assert parse_nat(text).is_affine_in(["$i", "$j"]) is expected


@pytest.mark.parametrize(
    "text", ["999999999999999999 + 1", "999999999 * 9999999999", "999999999999999999 * N * 2"]
)
def test_integers_have_a_limit(text: str) -> None:
    with pytest.raises(NatError, match="more than 18 digits"):
        parse_nat(text)


def test_products_have_a_limit() -> None:
    with pytest.raises(NatError, match="more than 512 terms"):
        parse_nat(" * ".join(f"(a{index} + b{index})" for index in range(40)))
    with pytest.raises(NatError, match="degree above 64"):
        parse_nat(" * ".join("N" for _ in range(100)))


def test_nesting_has_a_limit() -> None:
    with pytest.raises(NatError, match="nested more than 48 deep"):
        parse_nat("N" + "".join(f" mod {divisor}" for divisor in range(1000, 2000)))


def test_values_survive_pickling() -> None:
    nat = nat_min(N * 4 + 1, M // 3)
    assert hash(nat) is not None
    copy = pickle.loads(pickle.dumps(nat))
    assert copy == nat
    assert hash(copy) == hash(nat)


def test_order_does_not_depend_on_hash_seeds() -> None:
    program = (
        "from riselang.nat import as_nat;"
        "print(as_nat('min(b, a, c) * d + max(e, f) + c * b - a + g mod h + g floordiv i'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
