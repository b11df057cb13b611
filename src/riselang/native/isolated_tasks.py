"""What is done in a process of its own; see `isolated`."""

from __future__ import annotations

import re
from base64 import b64encode
from ctypes import CDLL
from dataclasses import asdict
from typing import Any

from riselang.errors import RiseError
from riselang.native.build import Job
from riselang.native.linalg import NotTaken, Part, legalised_parts


def legalise(request: dict[str, Any]) -> dict[str, Any]:
    """Parts of a module as texts; or the op that the pass leaves, or why it fails."""
    parts = [Part.of(each) for each in request.pop("parts")]
    try:
        return {"texts": legalised_parts(parts=parts, **request)}
    except NotTaken as error:
        place = None if error.location is None else asdict(error.location)
        return {"op": error.op, "location": place}
    except RiseError as error:
        return {"failed": error.message}


def compile_job(request: dict[str, Any]) -> dict[str, Any]:
    """The machine code of a job; or why there is none."""
    try:
        job = Job.from_json(request["job"])
        missing = [name for name in _DECLARED.findall(job.llvm_ir) if not _is_here(name)]
        if missing:
            return {"failed": f"they call {missing[0]}, which is nowhere"}
        return {"code": b64encode(job.object_code()).decode()}
    except Exception as error:
        return {"failed": str(error)}


_DECLARED = re.compile(r"^declare .*@(?!llvm\.)([\w.$]+)\(", re.MULTILINE)
"""Functions of others in LLVM IR; code that calls one that is not there would end the process."""


def _is_here(name: str) -> bool:
    return hasattr(CDLL(None), name)
