"""`rise import`."""

from __future__ import annotations

from pathlib import Path

import pytest

from riselang.tools import rise

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "tanh.mlir"
    path.write_text(TEXT)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code: object = 0
    try:
        rise.main(["import", *map(str, arguments)])
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    assert isinstance(code, int)
    return code, captured.out, captured.err


def test_a_module_is_shown_as_patterns(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, module) == (0, "fun((arg0 : 4.f32),\n  arg0 |> map(tanh))\n", "")


@pytest.mark.parametrize(
    ("stage", "text"),
    [("rise", "rise.map"), ("affine", "affine.for"), ("llvm", "define"), ("header", "#include")],
)
def test_every_stage_is_shown(
    module: Path, stage: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, module, "--emit", stage)
    assert code == 0
    assert text in out


def test_machine_code_goes_to_a_file(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, module, "--emit", "obj", "-o", module.with_suffix(".o"))[0] == 0
    assert module.with_suffix(".o").stat().st_size > 0


def test_what_is_supported_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--supported")
    assert code == 0
    assert "stablehlo.dot_general " in out
    assert "chlo.erfc " in out
    assert "elements: f8E4M3FN f8E5M2 f16 bf16 f32 f64" in out


def test_mistakes_are_shown_at_their_place(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(TEXT.replace("tanh %x", "tanh %y"))
    code, _, errors = run(capsys, module)
    assert code == 1
    assert f"{module}:3:" in errors
    module.write_text(TEXT.replace("tanh %x :", "custom_call @magic(%x) : (tensor<4xf32>) ->"))
    code, _, errors = run(capsys, module)
    assert code == 1
    assert f"{module}:3:8: error: stablehlo.custom_call @magic is not supported" in errors
    assert run(capsys)[0] == 1
    assert run(capsys, module.parent / "none.mlir")[0] == 1


def test_open_lengths_are_for_python(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text(TEXT.replace("4xf32", "?xf32"))
    code, _, errors = run(capsys, module)
    assert code == 1
    assert "has dynamic dimensions" in errors


def test_the_fallback_takes_what_is_no_pattern_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "polar.mlir"
    path.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>\n"
        "  %1 = stablehlo.logistic %0 : tensor<4xcomplex<f32>>\n"
        "  %2 = stablehlo.real %1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>\n"
        "  return %2 : tensor<4xf32>\n}\n"
    )
    assert run(capsys, path)[0] == 1
    code, out, err = run(capsys, path, "--fallback", "linalg")
    assert code == 0
    assert "// unit 0: patterns" in out
    assert "// unit 1: linalg" in out
    assert "linalg.generic" in out
    assert "// unit 2: patterns\nfun((arg0 : 4.2.f32)," in out
    assert err.splitlines()[1].split() == [
        "stablehlo.logistic", "linalg,", "unit", "1", f"{path}:3:8",
    ]  # fmt: skip
    code, _, err = run(capsys, path, "--fallback", "linalg", "--emit", "obj")
    assert code == 1
    assert "cannot be emitted as obj" in err
