"""The same input gives the same code, byte for byte, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.fuzzing import FUZZ_FRACTION, examples

pytestmark = pytest.mark.rotating(3)

RUNS = examples(2, nightly=4, fuzzed=20)
EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
SCRIPT = """
import hashlib, sys
from pathlib import Path
import riselang as rl

for path in sorted(Path(sys.argv[1]).glob("*.rise")):
    program = rl.load(path)
    for name in dir(program):
        if name.startswith("_") or name in ("as_text",):
            continue
        for loops, library in (("affine", None), ("polyhedral", None), ("affine", "blas")):
            lowered = getattr(program, name).trace().lower(loops=loops, library=library)
            code = lowered.compilation.object_code
            print(path.stem, name, loops, library, hashlib.sha256(code).hexdigest())
"""


def hashes(seed: int, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_code_is_the_same_in_every_process(tmp_path: Path) -> None:
    chosen = sorted(EXAMPLES.glob("*.rise"))[:: 1 if FUZZ_FRACTION else 6]
    for path in chosen:
        (tmp_path / path.name).write_text(path.read_text())
    found = {hashes(seed, tmp_path) for seed in range(RUNS)}
    assert len(found) == 1
    assert len(found.pop().splitlines()) >= 3 * len(chosen)
