"""`rise benchcmp`: what changed, what is noise, and files that are no reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from riselang.tools import rise
from riselang.tools.figures import Figure, Report, Rival, format_amount, read_report, write_report
from riselang.tools.report_comparison import Verdict, compare_reports

MACHINE, VERSIONS = {"processor": "a", "cores": "2"}, {"riselang": "0.1.0"}


def noisy(median: float, seed: int, count: int = 25) -> tuple[float, ...]:
    """Times as machines give them: most are close, some are late."""
    source = np.random.default_rng(seed)
    return tuple(median * (1 + 0.02 * source.exponential(size=count)))


def report(*figures: tuple[str, Sequence[float]], machine: Any = MACHINE) -> Report:
    made = [Figure("speed", name, tuple(samples)) for name, samples in figures]
    return Report(machine, VERSIONS, tuple(made))


def compared(old: Report, new: Report, folder: Path, *options: str) -> int:
    write_report(folder / "old.json", old)
    write_report(folder / "new.json", new)
    try:
        rise.main(["benchcmp", str(folder / "old.json"), str(folder / "new.json"), *options])
    except SystemExit as exit:
        return int(exit.code or 0)
    return 0


def test_what_changed_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = report(("a", noisy(1e-3, 1)), ("b", noisy(2e-3, 2)), ("c", noisy(3e-3, 3)), ("d", [1.0]))
    new = report(("a", noisy(1e-3, 4)), ("b", noisy(3e-3, 5)), ("c", noisy(2e-3, 6)), ("d", [1.5]))
    assert compared(old, new, tmp_path) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].split() == ["figure", "old", "new", "ratio", "interval"]
    assert [line.split()[-1] for line in lines[2:5]] == ["slower", "faster", "?"]
    assert lines[5] == (
        "1 slower, 1 faster, 1 the same within noise, 1 with fewer than 5 samples (?)"
    )
    assert captured.err == ""


@pytest.mark.rotating(3)
def test_noise_is_seldom_taken_for_a_change() -> None:
    alarms = 0
    for seed in range(200):
        old, new = report(("a", noisy(1.0, 2 * seed))), report(("a", noisy(1.0, 2 * seed + 1)))
        alarms += compare_reports(old, new)[0].verdict is not Verdict.SAME
    assert alarms <= 6


def test_a_change_of_a_tenth_is_found() -> None:
    for seed in range(50):
        old, new = report(("a", noisy(1.0, 2 * seed))), report(("a", noisy(1.1, 2 * seed + 1)))
        assert compare_reports(old, new)[0].verdict is Verdict.SLOWER


@pytest.mark.parametrize(
    ("old", "new", "limit", "code"),
    [
        (noisy(1.0, 1), noisy(1.2, 2), "1.05", 1),
        (noisy(1.0, 1), noisy(1.2, 2), "1.5", 0),
        (noisy(1.2, 1), noisy(1.0, 2), "1.05", 0),
        (noisy(1.0, 1), noisy(1.0, 2), "0.5", 0),
        ([1.0], [1.2], "1.05", 1),
        ([1.0, 2.0, 1.0, 2.0, 1.5], [1.1, 2.0, 1.6, 2.1, 1.2], "1.05", 0),
    ],
)
def test_a_limit_fails_beyond_noise(
    old: Sequence[float], new: Sequence[float], limit: str, code: int, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert compared(report(("a", old)), report(("a", new)), tmp_path, "--fail-above", limit) == code
    assert (f"times as long; {limit} is allowed" in capsys.readouterr().err) == bool(code)


def test_what_is_in_one_report_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = report(("a", [1.0]), ("gone", [1.0]))
    new = report(("a", [1.0]), ("added", [1.0]), machine={"processor": "b"})
    assert compared(old, new, tmp_path) == 0
    assert capsys.readouterr().err == (
        "note: the reports are from different machines\n"
        "note: only in the old report: speed: gone\n"
        "note: only in the new report: speed: added\n"
    )
    assert compared(report(("a", [1.0])), report(("b", [1.0])), tmp_path) == 1
    assert "have no figure in common" in capsys.readouterr().err


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    figures = (
        Figure("g", "alone", (1.0, 2.0)),
        Figure("g", "bounded", (1.0, 3.0, 2.0), "bytes", Rival("hand", (1.0,)), 1.03),
    )
    written = Report(MACHINE, VERSIONS, figures)
    write_report(tmp_path / "r.json", written)
    assert read_report(tmp_path / "r.json") == written
    (first, second) = json.loads((tmp_path / "r.json").read_text())["figures"]
    assert (first["ratio"], second["ratio"], second["bound"]) == (None, 2.0, 1.03)
    assert second["ours"]["quartiles"] == [1.5, 2.5]


def document(**changed: Any) -> str:
    figure = {"group": "g", "name": "n", "unit": "s", "ours": {"samples": [1.0]}}
    whole = {"format": "riselang benchmark", "version": 1, "machine": {}, "versions": {}}
    figure |= {key[7:]: value for key, value in changed.items() if key.startswith("figure_")}
    whole |= {key: value for key, value in changed.items() if not key.startswith("figure_")}
    return json.dumps({"figures": [figure], **whole})


FOREIGN: list[tuple[str | bytes, str]] = [
    ("", "is not JSON"),
    ("{", "is not JSON"),
    (b"\xff\xfe\xfa", "is not JSON"),
    ("[" * 100_000, "is not JSON"),
    ("1" * 5000, "is not JSON"),
    ("[]", "the document: expected an object, but found list"),
    ('{"benchmarks": []}', "expected the format 'riselang benchmark', but found None"),
    (document(version=2), "expected version 1, but found 2"),
    (document(machine=None), "machine: expected an object, but found NoneType"),
    (document(machine={"cores": 2}), "machine: expected a text as cores, but found 2"),
    (document(figures={}), "expected a list of figures"),
    (document(figures=[1]), "figure 0: expected an object, but found int"),
    (document(figure_name=3), "figure 0: expected a text as name, but found 3"),
    (document(figure_ours=None), "figure 0, ours: expected an object"),
    (document(figure_ours={"samples": []}), "figure 0, ours: expected a list of samples"),
    (document(figure_ours={"samples": [0]}), "expected a number above 0, but found 0"),
    (document(figure_ours={"samples": [-1.5]}), "expected a number above 0, but found -1.5"),
    (document(figure_ours={"samples": [True]}), "expected a number above 0, but found True"),
    (document(figure_ours={"samples": [float("nan")]}), "expected a number above 0, but found nan"),
    (document(figure_ours={"samples": [10**400]}), "expected a number above 0, but found 1000"),
    (document(figure_rival=[]), "figure 0, rival: expected an object, but found list"),
    (document(figure_rival={"samples": [1]}), "figure 0, rival: expected a text as name"),
    (document(figure_bound="x"), "figure 0, bound: expected a number above 0, but found 'x'"),
]


@pytest.mark.parametrize(("text", "message"), FOREIGN)
def test_a_foreign_file_is_refused_in_a_sentence(
    text: str | bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "foreign.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SystemExit) as exit:
        rise.main(["benchcmp", str(path), str(path)])
    assert exit.value.code == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {path} is not ")
    assert message in errors
    assert errors.count("\n") == 1
    assert len(errors) < 400


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(SystemExit) as exit:
            rise.main(["benchcmp", str(path), str(path)])
        assert exit.value.code == 1
        assert f"{path} cannot be read" in capsys.readouterr().err


def test_a_limit_that_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("0", "-1", "nan", "inf", "much"):
        with pytest.raises(SystemExit) as exit:
            rise.main(["benchcmp", "a", "b", f"--fail-above={text}"])
        assert exit.value.code == 2
        assert f"expected a number above 0, but found {text!r}" in capsys.readouterr().err


def test_amounts_have_the_unit_that_fits() -> None:
    shown = [format_amount(value, "s") for value in (2.5, 0.0125, 3e-6, 4e-8)]
    assert shown == ["2.500 s", "12.500 ms", "3.000 us", "40.0 ns"]
    assert format_amount(12345.6, "bytes") == "1.235e+04 bytes"
