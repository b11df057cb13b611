"""Read compiled programs from files."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from riselang.api.compiled import Compiled
from riselang.api.save_compiled import CHECKSUM_LABEL, MAGIC
from riselang.native.llvm import shared_libraries as libraries
from riselang.runtime.arrays import Array
from riselang.runtime.artifact import Artifact
from riselang.runtime.checksum import CHECKSUM_BYTES, checksum
from riselang.runtime.environment import host_target
from riselang.runtime.sealing import as_value_errors, check_json_type, split_line
from riselang.support.config import Options
from riselang.support.element_types import dtype_by_name
from riselang.support.errors import UserError
from riselang.support.structures import Interface

if TYPE_CHECKING:
    from riselang.compiler.compilation import Compilation


def load_saved(data: bytes, name: str) -> Compiled:
    """Load the program from the contents of a file that `save` wrote."""
    start = len(MAGIC) + CHECKSUM_BYTES
    content = memoryview(data)[start:]
    if not data.startswith(MAGIC):
        raise UserError(
            f"{name} is not a compiled program, or another version of riselang saved it"
        )
    if data[:start] != MAGIC + checksum(CHECKSUM_LABEL, content):
        raise UserError(f"{name} is damaged; save the program again")
    head, body = split_line(content)
    try:
        with as_value_errors("a compiled program"):
            return _load_compiled(json.loads(head), body, name)
    except ValueError as error:
        raise UserError(f"{name} cannot be loaded: {error}; save the program again") from None


def _load_compiled(facts: Any, code: memoryview, name: str) -> Compiled:
    function = check_json_type(facts["name"], str)
    interface, code = _read_interface(facts, code)
    artifact = Artifact.from_bytes(code)
    if facts["target"] != asdict(host_target()):
        artifact = _read_compilation(facts, name).artifact
    for library in artifact.libraries:
        libraries.library_path(library)
    artifact.check({function: None})
    functions = artifact.load_executables(
        lambda each: _read_compilation(facts, name).source.terms(each)
    )
    groups = tuple(check_json_type(each, int) for each in facts["groups"])
    return Compiled(functions[function], groups, interface=interface)


def _read_interface(facts: Any, code: memoryview) -> tuple[Interface, memoryview]:
    """Return how the program is called, and the code after the captured arrays."""
    captured: list[Array] = []
    for name, shape in facts["captured"]:
        dtype = dtype_by_name(check_json_type(name, str))
        lengths = [check_json_type(length, int) for length in shape]
        size = prod(lengths)
        if min(lengths, default=0) < 0 or size * dtype.itemsize > len(code):
            raise ValueError("captured arrays that are too long")
        captured.append(np.frombuffer(code, dtype, size).reshape(lengths))
        code = code[size * dtype.itemsize :]
    inputs, results = (
        tuple(check_json_type(each, bool) for each in flags) for flags in facts["complex"]
    )
    messages = tuple(
        (check_json_type(location, str), check_json_type(text, str))
        for location, text in facts["messages"]
    )
    interface = Interface(
        captured=tuple(captured), complex_inputs=inputs, complex_results=results, messages=messages
    )
    return interface, code


def _read_compilation(facts: Any, name: str) -> Compilation:
    """Parse the program's IR, which is needed if the machine code is for another machine."""
    # Imported only here: machine code for this machine is loaded without the compiler.
    from riselang.compiler.compilation import Compilation
    from riselang.dialects.module import parse_module, verify_module

    module = parse_module(facts["text"], name)
    verify_module(module)
    return Compilation(module, Options(**facts["options"]))
