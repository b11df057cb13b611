"""Files of programs that are wrong, each with the whole error that they give."""

from __future__ import annotations

from pathlib import Path

END, MIDDLE = "\n====\n", "\n--\n"


def read_goldens(path: Path) -> dict[str, str]:
    """The error of each program."""
    blocks = [block for block in path.read_text().split(END) if block.strip()]
    return dict(block.split(MIDDLE) for block in blocks)


def write_goldens(path: Path, goldens: dict[str, str]) -> None:
    """For who changes what an error says: write the file anew, and look at the difference."""
    path.write_text("".join(f"{text}{MIDDLE}{error}{END}" for text, error in goldens.items()))
