"""`--size`: sizes by the names that the program's author gave them."""

from pathlib import Path

import pytest

from riselang.tools import rise

PROGRAMS = """def counted = fun(x : f32, x |> iterate(K, fun(a, a + 1.0)))
def cut = fun(x : N.f32, x |> split(4) |> map(reduce(add, 0.0)))
"""


def run(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    path = folder / "f.rise"
    path.write_text(PROGRAMS)
    rise.main(["run", str(path), *arguments])
    return capsys.readouterr().out.strip()


def refusal(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        run(folder, capsys, *arguments)
    assert ended.value.code == 1
    return capsys.readouterr().err.strip()


def test_a_size_that_only_patterns_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--function", "counted", "--size", "K=3", "2"]
    assert run(tmp_path, capsys, *arguments) == "5.0"
    assert run(tmp_path, capsys, *arguments, "--backend", "interpret") == "5.0"


def test_a_size_that_had_to_be_a_multiple(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function = ["--function", "cut", "ones", "--size"]
    assert run(tmp_path, capsys, *function, "N=8") == "[4. 4.]"
    assert run(tmp_path, capsys, *function, "N_by_4=2") == "[4. 4.]"
    assert refusal(tmp_path, capsys, *function, "N=6") == (
        "error: size N: expected N_by_4 * 4, but found 6"
    )


def test_a_size_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(tmp_path, capsys, "--function", "cut", "ones", "--size", "M=8") == (
        "error: cut has no size M; it has: N, N_by_4"
    )
