"""Write compiled programs to files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from riselang.compiler.compilation import Compilation
from riselang.dialects.module import module_text
from riselang.native.llvm import codegen as llvm
from riselang.support.io import write_file

MAGIC = b"riselang program 1\n"


def save(name: str, groups: Sequence[int], compilation: Compilation, path: str | Path) -> None:
    """Write a function's machine code and IR; `groups` has the number of buffers of each result."""
    facts = {
        "name": name,
        "groups": groups,
        "target": asdict(llvm.host()),
        "options": asdict(compilation.options),
        "text": module_text(compilation.module),
    }
    content = json.dumps(facts).encode() + b"\n" + compilation.artifact.to_bytes()
    write_file(path, MAGIC + hashlib.sha256(content).digest() + content)
