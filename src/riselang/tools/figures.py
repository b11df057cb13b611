"""Benchmark figures, and the JSON report that contains them.

`make bench` and `rise bench --json` write it, `rise benchcmp` reads it. The values computed from
the samples (median, quartiles, ratio) are for other readers, and are not read back.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from riselang.support.errors import UserError
from riselang.support.html import paragraph, table
from riselang.support.io import write_file

FORMAT, VERSION = "riselang benchmark", 1
SECONDS = "s"


@dataclass(frozen=True)
class Rival:
    """The baseline that a figure is compared with."""

    name: str
    samples: tuple[float, ...]


@dataclass(frozen=True)
class Figure:
    """A measurement; less is better. `bound` is the maximum of the ratio."""

    group: str
    name: str
    samples: tuple[float, ...]
    unit: str = SECONDS
    rival: Rival | None = None
    bound: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def ratio(self) -> float | None:
        """The median relative to the rival's."""
        return self.median / statistics.median(self.rival.samples) if self.rival else None

    @property
    def ratio_of_minima(self) -> float | None:
        """The least sample relative to the rival's, which other processes affect less."""
        return min(self.samples) / min(self.rival.samples) if self.rival else None


@dataclass(frozen=True)
class Report:
    """Figures from one machine."""

    machine: Mapping[str, str]
    versions: Mapping[str, str]
    figures: tuple[Figure, ...]

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{each.group}: {each.name}",
                format_amount(each.median, each.unit),
                "" if each.rival is None else each.rival.name,
                "" if each.ratio is None else f"{each.ratio:.3f}",
            )
            for each in self.figures
        ]
        return paragraph(", ".join(self.machine.values())) + table(
            ("figure", "median", "rival", "ratio"), rows
        )


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the lower and the upper quartile."""
    if len(samples) == 1:
        return samples[0], samples[0]
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, high


def format_amount(value: float, unit: str) -> str:
    """Format a value with its unit; times get a suitable one."""
    if unit != SECONDS:
        return f"{value:.4g} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3f} {name}"
    return f"{value / 1e-9:.1f} ns"


def write_report(path: Path, report: Report) -> None:
    document = {
        "format": FORMAT,
        "version": VERSION,
        "machine": dict(report.machine),
        "versions": dict(report.versions),
        "figures": [_figure_to_json(figure) for figure in report.figures],
    }
    write_file(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _figure_to_json(figure: Figure) -> dict[str, Any]:
    rival = figure.rival
    return {
        "group": figure.group,
        "name": figure.name,
        "unit": figure.unit,
        "ours": _samples_to_json(figure.samples),
        "rival": {"name": rival.name, **_samples_to_json(rival.samples)} if rival else None,
        "ratio": figure.ratio,
        "bound": figure.bound,
    }


def _samples_to_json(samples: Sequence[float]) -> dict[str, Any]:
    return {
        "median": statistics.median(samples),
        "quartiles": list(quartiles(samples)),
        "samples": list(samples),
    }


def read_report(path: Path) -> Report:
    """Read the report in a file; raise an error for another file."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from None
    try:
        return _parse_report(document)
    except _FormatError as error:
        raise UserError(
            f"{path} is not a report of 'make bench' or 'rise bench --json': {error}"
        ) from None


class _FormatError(Exception):
    """A document is not a benchmark report."""


def _parse_report(document: Any) -> Report:
    fields = _check_object(document, "the document")
    if fields.get("format") != FORMAT:
        raise _FormatError(
            f"expected the format {FORMAT!r}, but found {fields.get('format')!r:.40}"
        )
    if fields.get("version") != VERSION:
        raise _FormatError(f"expected version {VERSION}, but found {fields.get('version')!r:.40}")
    figures = fields.get("figures")
    if not isinstance(figures, list):
        raise _FormatError("expected a list of figures")
    return Report(
        _text_fields(fields, "machine"),
        _text_fields(fields, "versions"),
        tuple(
            _parse_figure(each, position) for position, each in enumerate(cast(list[Any], figures))
        ),
    )


def _parse_figure(document: Any, position: int) -> Figure:
    location = f"figure {position}"
    fields = _check_object(document, location)
    rival = fields.get("rival")
    bound = fields.get("bound")
    return Figure(
        _text_field(fields, "group", location),
        _text_field(fields, "name", location),
        _parse_samples(fields.get("ours"), f"{location}, ours"),
        _text_field(fields, "unit", location),
        None if rival is None else _parse_rival(rival, f"{location}, rival"),
        None if bound is None else _parse_number(bound, f"{location}, bound"),
    )


def _parse_rival(document: Any, location: str) -> Rival:
    return Rival(
        _text_field(_check_object(document, location), "name", location),
        _parse_samples(document, location),
    )


def _parse_samples(document: Any, location: str) -> tuple[float, ...]:
    samples = _check_object(document, location).get("samples")
    if not isinstance(samples, list) or not samples:
        raise _FormatError(f"{location}: expected a list of samples")
    return tuple(_parse_number(each, location) for each in cast(list[Any], samples))


def _parse_number(value: Any, location: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # JSON integers may exceed the range of floats.
    if not is_number or not 0 < value < 1e300 or not math.isfinite(value):
        raise _FormatError(f"{location}: expected a number above 0, but found {value!r:.40}")
    return float(value)


def _check_object(value: Any, location: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _FormatError(f"{location}: expected an object, but found {type(value).__name__}")
    return cast(dict[str, Any], value)


def _text_field(fields: Mapping[str, Any], name: str, location: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _FormatError(f"{location}: expected a text as {name}, but found {value!r:.40}")
    return value


def _text_fields(fields: Mapping[str, Any], name: str) -> dict[str, str]:
    inner = _check_object(fields.get(name), name)
    return {key: _text_field(inner, key, name) for key in inner}
