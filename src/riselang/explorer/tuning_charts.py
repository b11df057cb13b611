"""Charts of a search for a strategy, as SVG: the shortest time so far, and parallel coordinates.

All text from outside is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

from riselang.rewrite.parameters import Choice
from riselang.runtime.tuning_database import Trial
from riselang.tuning.result import fastest_so_far

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 14, 34
AXIS_DISTANCE = 96
"""The distance between two axes of parameters."""
NAME_HEIGHT = 110
"""The space for the names of the parameters, which are slanted."""
MAX_NAME, MAX_VALUE = 28, 13
"""How many characters of a name or a value are drawn; a tooltip has all of them."""
MAX_FAILURES = 40
"""How many trials without a time the parallel coordinates draw."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def format_seconds(seconds: float) -> str:
    """Return a time with three digits: `1.25 ms`."""
    for scale, unit in UNITS:
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def draw_curve(trials: Sequence[Trial], default_seconds: float | None) -> str:
    """Draw the time of each trial, and the shortest time after each; failures are crosses."""
    curve = fastest_so_far(trials, math.inf if default_seconds is None else default_seconds)
    times = [each.seconds for each in trials if each.seconds is not None]
    times += [] if default_seconds is None else [default_seconds]
    if not times:
        return ""
    y = _time_scale(times, HEIGHT - BOTTOM, TOP)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(trials))

    def x(number: float) -> float:
        return LEFT + step * number

    parts = _time_grid(times, y, WIDTH - RIGHT)
    if default_seconds is not None:
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(default_seconds):.1f}" '
            f'y2="{y(default_seconds):.1f}" stroke="var(--gone-edge)" stroke-dasharray="4 3">'
            f"<title>default strategy: {format_seconds(default_seconds)}</title></line>"
        )
    for number, trial in enumerate(trials, 1):
        parts.append(_draw_trial(trial, number, x(number - 0.5), y))
    corners = [
        f"{x(number + side):.1f},{y(seconds):.1f}"
        for number, seconds in enumerate(curve)
        if math.isfinite(seconds)
        for side in (0, 1)
    ]
    parts.append(
        f'<polyline class="best" points="{" ".join(corners)}" fill="none" stroke="var(--accent)" '
        'stroke-width="2"/>'
    )
    for number in _round_numbers(len(trials)):
        parts.append(_text(x(number - 0.5), HEIGHT - BOTTOM + 24, str(number), "middle"))
    return _svg(WIDTH, HEIGHT, "Shortest time after each trial", parts)


def _draw_trial(trial: Trial, number: int, x: float, y: Callable[[float], float]) -> str:
    tooltip = f"<title>{escape(describe_outcome(trial, number))}</title>"
    if trial.seconds is not None:
        return (
            f'<circle cx="{x:.1f}" cy="{y(trial.seconds):.1f}" r="2.6" fill="var(--type)" '
            f'opacity="0.7">{tooltip}</circle>'
        )
    bottom = HEIGHT - BOTTOM + 6
    return (
        f'<path class="failed" d="M{x - 2.5:.1f} {bottom - 2.5}l5 5m0 -5l-5 5" '
        f'stroke="var(--gone-edge)" stroke-width="1.2">{tooltip}</path>'
    )


def describe_outcome(trial: Trial, number: int) -> str:
    """Return the time of a trial, or why it has none."""
    if trial.seconds is not None:
        return f"trial {number}: {format_seconds(trial.seconds)}"
    return f"trial {number}: {trial.status}: {trial.reason}"


def draw_parallel_coordinates(
    trials: Sequence[Trial], parameters: Mapping[str, Sequence[Choice]], best: str | None
) -> str:
    """Draw an axis for each parameter, and a line for each trial, whose color is its time."""
    times = [each.seconds for each in trials if each.seconds is not None]
    if not parameters or not times:
        return ""
    width = max(WIDTH, LEFT + AXIS_DISTANCE * len(parameters) + 60)
    height, top = HEIGHT + NAME_HEIGHT, TOP + NAME_HEIGHT
    distance = (width - LEFT - 60) / len(parameters)
    columns = {name: LEFT + distance * number for number, name in enumerate(parameters)}
    scales = {name: _value_scale(each, height - BOTTOM, top) for name, each in parameters.items()}
    y = _time_scale(times, height - BOTTOM, top)
    end = LEFT + distance * len(parameters)
    parts: list[str] = []
    for number, trial in _slowest_first(trials, best):
        points = [
            (columns[name], scales[name][trial.choices[name]])
            for name in parameters
            if name in trial.choices
        ]
        points += [] if trial.seconds is None else [(end, y(trial.seconds))]
        style = _line_style(trial, times, trial.strategy == best)
        corners = " ".join(f"{x:.1f},{at:.1f}" for x, at in points)
        tooltip = escape(describe_outcome(trial, number))
        parts.append(
            f'<polyline points="{corners}" fill="none" {style}><title>{tooltip}</title></polyline>'
        )
    for name, x in columns.items():
        parts += _draw_axis(name, x, top, height - BOTTOM, scales[name])
    marks: dict[Choice, float] = {
        format_seconds(each): y(each) for each in (min(times), max(times))
    }
    parts += _draw_axis("time", end, top, height - BOTTOM, marks)
    return _svg(width, height, "Parameters of each trial", parts)


def _slowest_first(trials: Sequence[Trial], best: str | None) -> list[tuple[int, Trial]]:
    """Return the trials with their numbers in the order in which to draw them."""
    numbered = list(enumerate(trials, 1))
    failed = [each for each in numbered if each[1].seconds is None][-MAX_FAILURES:]
    measured = [each for each in numbered if each[1].seconds is not None]
    measured.sort(key=lambda each: (each[1].strategy == best, -(each[1].seconds or 0.0)))
    return failed + measured


def _line_style(trial: Trial, times: Sequence[float], is_best: bool) -> str:
    if trial.seconds is None:
        return 'class="failed" stroke="var(--quiet)" stroke-dasharray="2 4" opacity="0.35"'
    least, most = min(times), max(times)
    share = math.log(trial.seconds / least) / math.log(most / least) if most > least else 0.0
    color = f"color-mix(in oklab, var(--gone-edge) {100 * share:.0f}%, var(--accent))"
    if is_best:
        return f'class="best" stroke="{color}" stroke-width="3.5"'
    return f'stroke="{color}" stroke-width="1.3" opacity="{0.85 - 0.45 * share:.2f}"'


def _value_scale(values: Sequence[Choice], bottom: float, top: float) -> dict[Choice, float]:
    """Return the positions of the values, which are evenly spaced."""
    distance = (bottom - top) / max(1, len(values) - 1)
    return {value: bottom - distance * number for number, value in enumerate(values)}


def _draw_axis(
    name: str, x: float, top: float, bottom: float, marks: Mapping[Choice, float]
) -> list[str]:
    parts = [
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="var(--quiet)"/>',
        f'<g transform="translate({x:.1f} {top - 12}) rotate(-35)">'
        f"{_text(0, 0, name, 'start', MAX_NAME)}</g>",
    ]
    parts += [_text(x + 5, at + 4, str(mark), "start") for mark, at in marks.items()]
    return parts


def _time_scale(times: Sequence[float], bottom: float, top: float) -> Callable[[float], float]:
    """Return the position of a time on a logarithmic axis; the shortest time is at the bottom."""
    least, most = math.log(min(times)), math.log(max(times))
    span = most - least or 1.0
    return lambda seconds: bottom - (math.log(seconds) - least) / span * (bottom - top)


def _time_grid(times: Sequence[float], y: Callable[[float], float], right: float) -> list[str]:
    parts: list[str] = []
    for mark in _round_times(min(times), max(times)):
        parts.append(
            f'<line x1="{LEFT}" x2="{right}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" '
            'stroke="var(--line)"/>'
        )
        parts.append(_text(LEFT - 8, y(mark) + 4, format_seconds(mark), "end"))
    return parts


def _round_times(least: float, most: float) -> list[float]:
    """Return about five round times between two; both of them if they are almost equal."""
    if most / least >= 8:
        tens = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        factors = (1, 2, 5) if most / least < 300 else (1,)
        marks = [factor * 10.0**exponent for exponent in tens for factor in factors]
    else:
        size = 10.0 ** math.floor(math.log10(max(most - least, most * 1e-3) / 2))
        while (most - least) / size > 6:
            size *= 2
        marks = [size * number for number in range(int(least / size), int(most / size) + 1)]
    found = [mark for mark in marks if least <= mark <= most]
    return found if len(found) > 1 else sorted({least, most})


def _round_numbers(count: int) -> list[int]:
    """Return the numbers of trials to write below the curve."""
    size = next(each for each in (1, 2, 5, 10, 20, 50, 100, 10**9) if count / each <= 12)
    return sorted({1, *range(size, count + 1, size)}) if count else []


def _text(x: float, y: float, text: str, anchor: str, length: int = MAX_VALUE) -> str:
    brief = text if len(text) <= length else f"{text[: length - 1]}…"
    tooltip = "" if brief == text else f"<title>{escape(text)}</title>"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="var(--quiet)">{tooltip}'
        f"{escape(brief)}</text>"
    )


def _svg(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )
