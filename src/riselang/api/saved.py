"""Read compiled programs from files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from riselang.api.compiled import Compiled
from riselang.api.saving import HEAD
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import parse_module, verify_module
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import shared_libraries as libraries
from riselang.runtime.artefact import Artefact
from riselang.runtime.sealing import only_value_errors, typed
from riselang.support.config import Options
from riselang.support.errors import UserError


def load_saved(data: bytes, name: str) -> Compiled:
    """Load the program from the contents of a file that `save` wrote."""
    start = len(HEAD) + hashlib.sha256().digest_size
    content = data[start:]
    if not data.startswith(HEAD):
        raise UserError(
            f"{name} is not a compiled program, or another version of riselang saved it"
        )
    if data[:start] != HEAD + hashlib.sha256(content).digest():
        raise UserError(f"{name} is damaged; save the program again")
    head, _, rest = content.partition(b"\n")
    try:
        with only_value_errors("a compiled program"):
            return _loaded(json.loads(head), rest, name)
    except ValueError as error:
        raise UserError(f"{name} cannot be loaded: {error}; save the program again") from None


def _loaded(facts: Any, code: bytes, name: str) -> Compiled:
    function = typed(facts["name"], str)
    artefact = Artefact.from_bytes(code)
    if facts["target"] != asdict(llvm.host()):
        artefact = _compilation(facts, name).artefact
    for library in artefact.libraries:
        libraries.found(library)
    artefact.check({function: None})
    functions = artefact.executables(lambda each: _compilation(facts, name).source.terms(each))
    groups = tuple(typed(each, int) for each in facts["groups"])
    return Compiled(functions[function], groups)


def _compilation(facts: Any, name: str) -> Compilation:
    """Parse the program's IR, which is needed if the machine code is for another machine."""
    module = parse_module(facts["text"], name)
    verify_module(module)
    return Compilation(module, Options(**facts["options"]))
