"""The page: data, style and script in one HTML file."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from riselang.explorer.tuning_view import Tuning
from riselang.support.io import write_file
from riselang.support.lazy import cached_property

SCRIPTS = (
    "model.js",
    "words.js",
    "lines.js",
    "diff.js",
    "links.js",
    "speed.js",
    "main.js",
    "live.js",
)
"""The scripts, in the order in which they run."""
FRAME_HEIGHT = 640


@dataclass(frozen=True, repr=False)
class Page:
    """A page of the explorer, to write to a file or display in a notebook."""

    data: dict[str, Any]
    tuning: Tuning | None = None
    """The search that found the strategy, to show as well."""
    spaces: str = ""
    """The iteration spaces of C loops, as HTML."""

    @cached_property
    def html(self) -> str:
        """The page as self-contained HTML."""
        title = f"{self.data['title']} · riselang explorer"
        script = "\n".join(_read_asset(name) for name in SCRIPTS)
        return _fill_template(
            _read_asset("page.html"),
            {
                "title": html.escape(title),
                "style": _read_asset("style.css"),
                "tuning": "" if self.tuning is None else self.tuning.to_html(self.data),
                "spaces": self.spaces,
                "data": _to_json(self.data),
                "script": f'(() => {{\n"use strict";\n{script}}})();',
            },
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        write_file(path, self.html)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, for notebooks."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: '
            f'{FRAME_HEIGHT}px; border: 0" title="riselang explorer"></iframe>'
        )

    def __repr__(self) -> str:
        count = len(self.data["steps"])
        return f"<page of {self.data['title']}: {count} step{'' if count == 1 else 's'}>"


def _fill_template(template: str, parts: dict[str, str]) -> str:
    """Replace each `{{name}}` once, from left to right, so that parts may contain braces."""
    result: list[str] = []
    rest = template
    for name, text in parts.items():
        before, placeholder, rest = rest.partition("{{" + name + "}}")
        assert placeholder, name
        result += (before, text)
    return "".join([*result, rest])


def _to_json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the surrounding script element, whatever it contains."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _read_asset(name: str) -> str:
    return resources.files("riselang.explorer").joinpath("assets", name).read_text("utf-8")
