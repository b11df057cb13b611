"""Write compiled programs to files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from riselang.runtime.checksum import checksum
from riselang.runtime.environment import host_target
from riselang.support.io import write_file
from riselang.support.structures import Interface

if TYPE_CHECKING:
    from riselang.compiler.compilation import Compilation

MAGIC = b"riselang program 3\n"
CHECKSUM_LABEL = "compiled program"


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
    from riselang.dialects.module import module_text

    facts = {
        "name": name,
        "groups": groups,
        "target": asdict(host_target()),
        "options": asdict(compilation.options),
        "text": module_text(compilation.module),
        "captured": [(array.dtype.name, array.shape) for array in interface.captured],
        "complex": [interface.complex_inputs, interface.complex_results],
        "messages": interface.messages,
    }
    arrays = b"".join(array.tobytes() for array in interface.captured)
    content = json.dumps(facts).encode() + b"\n" + arrays + compilation.artifact.to_bytes()
    write_file(path, MAGIC + checksum(CHECKSUM_LABEL, content) + content)
