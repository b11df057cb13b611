"""Compiled programs in files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from riselang.api.compile import Compilation
from riselang.api.compiled import Compiled, Groups
from riselang.api.lowered import Lowered
from riselang.config import Options
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.errors import UserError
from riselang.files import write_file
from riselang.native import libraries, llvm
from riselang.runtime.artefact import Artefact
from riselang.runtime.sealing import only_value_errors, typed

_HEAD = b"riselang program 1\n"


def save(lowered: Lowered, groups: Groups, path: str | Path) -> None:
    compilation = lowered.compilation
    facts = {
        "name": lowered.name,
        "groups": groups,
        "target": asdict(llvm.host()),
        "options": asdict(lowered.options),
        "text": module_text(compilation.module),
    }
    content = json.dumps(facts).encode() + b"\n" + compilation.artefact.to_bytes()
    write_file(path, _HEAD + hashlib.sha256(content).digest() + content)


def load_saved(data: bytes, name: str) -> Compiled:
    """The program in a file that `save` wrote."""
    start = len(_HEAD) + hashlib.sha256().digest_size
    content = data[start:]
    if not data.startswith(_HEAD):
        raise UserError(f"{name} is not a compiled program, or one of another version of riselang")
    if data[:start] != _HEAD + hashlib.sha256(content).digest():
        raise UserError(f"{name} is damaged; save the program again")
    head, _, rest = content.partition(b"\n")
    try:
        with only_value_errors("a compiled program"):
            return _loaded(json.loads(head), rest, name)
    except ValueError as error:
        raise UserError(f"{name} cannot be loaded: {error}; save the program again") from None


def _loaded(facts: Any, code: bytes, name: str) -> Compiled:
    module, function = _Source(facts, name), typed(facts["name"], str)
    artefact = Artefact.from_bytes(code)
    if facts["target"] != asdict(llvm.host()):
        artefact = module.compilation().artefact
    for library in artefact.libraries:
        libraries.found(library)
    artefact.check({function: None})
    functions = artefact.executables(lambda each: module.compilation().terms(each))
    groups = tuple(typed(each, int) for each in facts["groups"])
    return Compiled(functions[function], groups)


class _Source:
    """The RISE IR of a saved program, which is read where the machine code is not enough."""

    def __init__(self, facts: dict[str, Any], name: str):
        self._facts = facts
        self._name = name

    def compilation(self) -> Compilation:
        module = parse_module(self._facts["text"], self._name)
        verify_module(module)
        return Compilation(module, Options(**self._facts["options"]))
