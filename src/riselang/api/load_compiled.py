"""Read compiled programs from files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from riselang.api.compiled import Compiled
from riselang.api.save_compiled import MAGIC
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import parse_module, verify_module
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm import shared_libraries as libraries
from riselang.runtime.artifact import Artifact
from riselang.runtime.sealing import as_value_errors, check_json_type
from riselang.support.config import Options
from riselang.support.errors import UserError


def load_saved(data: bytes, name: str) -> Compiled:
    """Load the program from the contents of a file that `save` wrote."""
    start = len(MAGIC) + hashlib.sha256().digest_size
    content = data[start:]
    if not data.startswith(MAGIC):
        raise UserError(
            f"{name} is not a compiled program, or another version of riselang saved it"
        )
    if data[:start] != MAGIC + hashlib.sha256(content).digest():
        raise UserError(f"{name} is damaged; save the program again")
    head, _, body = content.partition(b"\n")
    try:
        with as_value_errors("a compiled program"):
            return _load_compiled(json.loads(head), body, name)
    except ValueError as error:
        raise UserError(f"{name} cannot be loaded: {error}; save the program again") from None


def _load_compiled(facts: Any, code: bytes, name: str) -> Compiled:
    function = check_json_type(facts["name"], str)
    artifact = Artifact.from_bytes(code)
    if facts["target"] != asdict(llvm.host()):
        artifact = _read_compilation(facts, name).artifact
    for library in artifact.libraries:
        libraries.library_path(library)
    artifact.check({function: None})
    functions = artifact.load_executables(
        lambda each: _read_compilation(facts, name).source.terms(each)
    )
    groups = tuple(check_json_type(each, int) for each in facts["groups"])
    return Compiled(functions[function], groups)


def _read_compilation(facts: Any, name: str) -> Compilation:
    """Parse the program's IR, which is needed if the machine code is for another machine."""
    module = parse_module(facts["text"], name)
    verify_module(module)
    return Compilation(module, Options(**facts["options"]))
