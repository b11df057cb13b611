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
from riselang.support.structures import Interface

MAGIC = b"riselang program 2\n"


def save(
    name: str,
    groups: Sequence[int],
    compilation: Compilation,
    interface: Interface,
    path: str | Path,
) -> None:
    """Write a function's machine code, IR and captured arrays.

    `groups` has the number of buffers of each result.
    """
    facts = {
        "name": name,
        "groups": groups,
        "target": asdict(llvm.host()),
        "options": asdict(compilation.options),
        "text": module_text(compilation.module),
        "captured": [(array.dtype.name, array.shape) for array in interface.captured],
        "complex": [interface.complex_inputs, interface.complex_results],
        "messages": interface.messages,
    }
    arrays = b"".join(array.tobytes() for array in interface.captured)
    content = json.dumps(facts).encode() + b"\n" + arrays + compilation.artifact.to_bytes()
    write_file(path, MAGIC + hashlib.sha256(content).digest() + content)
