"""Checks prose for words that the glossary retires: docs, docstrings, comments and messages.

    python docs/words.py [FILE ...]

Each word is a regular expression and what to write instead; `docs/explanation/glossary.md` explains
them. Code in Markdown (fenced or in backticks) and identifiers are not prose.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
EXEMPT = {
    "docs/words.py": "it has the words themselves",
    "docs/explanation/glossary.md": "it has the words themselves",
    "CODE_OF_CONDUCT.md": "its text is the Contributor Covenant's",
}

_SYSTEMS = "NVIDIA|numpy|NumPy|MLIR|LLVM|C|Python|JAX|xDSL|isl|torch|PyTorch|StableHLO|clang"
_THINGS = (
    "arrays?|GPUs?|modules?|loops?|names?|types?|functions?|ops?|passes|pass|statements?|"
    "expressions?|kernels?|texts?|programs?|dialects?|integers?|models?"
)
RETIRED = {
    r"processors?": "CPU, or hardware thread",
    r"(?<!constant )(?<!constant-)(?<!storage )fold(s|ed|ing)?": "reduction, reduce",
    r"turned(?! (on|off|into)\b)": "transposed, rotated or shuffled",
    r"one behind the other|one after the other in memory|side by side in memory": "contiguous",
    r"as (it|they) lies?": "in its original layout",
    r"open (lengths?|sizes?|dimensions?)": "dynamic dimension, symbolic size",
    rf"({_THINGS}) of ({_SYSTEMS})(?!')": "an MLIR module, C loops, NumPy arrays",
    r"truth values?": "Boolean",
    r"in (the|its|their) place of": "instead of",
    r"(?<!in )(?<!in-)(?<!take )(?<!takes )(?<!last )(?<!decimal )places?": (
        "location, path, buffer"
    ),
    r"rooms?": "capacity, size",
    r"rings?": "circular buffer, line buffer",
    r"(in|by|take|takes|taking|taken|took) turns?": "interleaved, double-buffered, alternately",
    r"(each|every|per|one|next|last|first|further|another|a|the) rounds?": "iteration",
    r"(goes|go|going|went|runs|run|spread) (along|over) (the |an |a )?(rows|columns|elements)": (
        "iterates over, is vectorized along"
    ),
    r"(?<!distributed )(on|over|among) (several |the |all )?threads": (
        "in parallel, distributed over threads"
    ),
    r"(lines?) of the cache|the (first|nearest) cache": "cache line, L1 cache",
    r"matrix products?|products? of (two )?matrices": "matrix multiplication",
    r"sums? of products": "matrix multiplication, tensor contraction",
    r"memory of (its|their) own": "its own buffer",
    r"(lies|lie|lay|lying) (in|on|at|behind|before|beside)": "is stored in, is at",
    r"bits stay|keeps? (its|their|the) bits": "bitwise identical",
    r"units in the last place|units off": "ulp",
    r"(left|right) sides?": "left-hand side, right-hand side",
    r"beside": "next to, compared with, besides",
    r"(names|what is|is) in reach": "in scope",
    r"on hovering": "on hover",
    r"(?<!there )(?<!There )(is|are|was|were) no(?! longer)(?! more)": "is not a",
    r"by (itself|themselves)": "automatically, on its own",
    r"[Ww]ithout a word": "by default",
    r"all is well": "no problems found",
    r"taken apart": "split",
    r"\w*(vectori|optimi|reali|recogni|normali|initiali|speciali|paralleli|materiali|generali|summari"
    r"|minimi|maximi|organi|factori|lineari|seriali|synchroni|quanti|utili|capitali)s(e|ed|es|ing"
    r"|er|ation|ations|able)": "American spelling: -ize",
    r"\w*(neighbour|colour|behaviour|favour|honour)\w*": "American spelling: -or",
}
_STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
"""Since Python 3.12, the parts of an f-string are tokens of their own."""
_WORDS = [(re.compile(rf"\b(?:{word})\b", re.IGNORECASE), hint) for word, hint in RETIRED.items()]


class Found(NamedTuple):
    """A retired word: where it is, and what to write instead."""

    path: str
    line: int
    word: str
    hint: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: '{self.word}' is retired: {self.hint}"


def retired_words(path: Path, text: str) -> list[Found]:
    """The retired words in the prose of a file."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    if name in EXEMPT:
        return []
    prose = python_prose(text) if path.suffix in (".py", ".pyi") else markdown_prose(text)
    return [
        Found(name, start + before.count("\n"), match[0], hint)
        for start, part in prose
        for pattern, hint in _WORDS
        for match in pattern.finditer(part)
        for before in (part[: match.start()],)
    ]


def markdown_prose(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs without code, each with its first line."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", _blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", _blank, text, flags=re.DOTALL)
    yield 1, without_code(text)


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    """Comments and the strings that have several words, each with its first line."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_prose = token.type == tokenize.COMMENT or (
            token.type in _STRINGS and " " in token.string and not _is_code(token.string)
        )
        if is_prose:
            yield token.start[0], without_code(token.string)


def without_code(text: str) -> str:
    """A text without code in backticks or braces, targets of links and indented code."""
    text = re.sub(r"``?[^`\n]+``?|\{[^{}\n]*\}", _blank, text)
    text = re.sub(r"\]\([^)\n]*\)", _blank, text)
    return re.sub(r"^(?: {4,}|\t)(?:>>>|\.\.\.|%|func|\$).*$", _blank, text, flags=re.MULTILINE)


def _is_code(text: str) -> bool:
    """Whether a string is a program rather than prose."""
    return (
        "|>" in text or "func.func" in text or "\n    return " in text or "import riselang" in text
    )


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def prose_files() -> Iterable[Path]:
    """Every file with prose that users or contributors read."""
    for folder, pattern in (
        ("docs", "**/*.md"), ("src", "**/*.py"), ("src", "**/*.md"), ("examples", "**/*.md"),
        ("examples", "**/*.py"), ("tests", "**/*.md"), ("benchmarks", "**/*.md"),
        (".github", "**/*.md"), (".", "*.md"),
    ):  # fmt: skip
        yield from sorted((ROOT / folder).glob(pattern))


def main(arguments: list[str]) -> int:
    """Print every retired word that is found; the exit code says whether there are any."""
    files = [Path(each).resolve() for each in arguments] or prose_files()
    found = [each for path in files for each in retired_words(path, path.read_text())]
    for each in found:
        print(each)
    print(f"{len(found)} retired words" if found else "no retired words")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
