"""Plant each fault of `planted.py` in a copy of the sources and run tests on it: are they found?

python tests/faults/plant.py            all of them
python tests/faults/plant.py join zip   those whose names or folders have one of these words
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted import FAULTS, Fault
from planted_c import C_FAULTS, FOLDER

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/unit/lowering", "tests/programs/test_seeds.py", "tests/programs/test_defects.py",
    "tests/programs/test_examples.py", "tests/programs/test_leaks.py",
    "tests/properties/test_polyhedral.py", "tests/properties/test_compiled_programs.py",
    "tests/properties/test_open_sizes.py",
)  # fmt: skip
"""The quick ones first: the first that fails is enough."""
C_TESTS = (
    "tests/programs/test_c_kernels.py::test_what_the_kernels_do_not_cover",
    "tests/properties/test_c_programs.py", "tests/unit/frontends/test_c_dependences.py",
    "tests/programs/test_c_linking.py", "tests/unit/frontends/test_c_arrangement.py",
    "tests/programs/test_c_kernels.py",
)  # fmt: skip
"""Those for faults in the C front end."""
LIFTING_TESTS = (
    "tests/unit/frontends/test_c_tactics.py", "tests/unit/frontends/test_c_library.py",
    "tests/unit/frontends/test_c_lifting.py", "tests/properties/test_c_lifted.py",
)  # fmt: skip
"""Those for faults in what is lifted from C, which they come first for."""
LIFTING = (
    "tactics/", "lifted/", "emission/structured", "emission/routines", "emission/row_calls",
)  # fmt: skip
TIMEOUT = 900
REQUIRED = 0.95


NOTHING = Fault("no fault at all", "", "", "")


def plant(fault: Fault, folder: Path) -> None:
    """A copy of the project in `folder` with the fault in it."""
    ignored = shutil.ignore_patterns("__pycache__", ".venv", ".git", "build")
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
    if fault is NOTHING:
        return
    path = folder / "src" / "riselang" / fault.folder / fault.file
    text = path.read_text()
    if text.count(fault.right) != 1:
        raise SystemExit(f"{fault.name}: the text is {text.count(fault.right)} times in {path}")
    path.write_text(text.replace(fault.right, fault.wrong))


def tests_for(fault: Fault) -> tuple[str, ...]:
    """What runs for a fault, until something fails."""
    if fault.folder != FOLDER:
        return TESTS
    is_lifting = fault.file.startswith(LIFTING)
    return (*LIFTING_TESTS, *C_TESTS) if is_lifting else (*C_TESTS, *LIFTING_TESTS)


def finder(fault: Fault) -> str | None:
    """The test that finds the fault, if one does."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plant(fault, folder)
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            *tests_for(fault),
        ]
        try:
            run = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True,
                timeout=TIMEOUT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "a time limit"
    if run.returncode == 0:
        return None
    lines = run.stdout.splitlines()
    found = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return found[0].split(" - ")[0] if found else "the end of the process"


def main(words: list[str]) -> int:
    every = (*FAULTS, *C_FAULTS)
    chosen = [
        fault
        for fault in every
        if not words or any(word in f"{fault.folder} {fault.name}" for word in words)
    ]
    survived: list[Fault] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        answers = pool.map(finder, [*chosen, NOTHING])
        for fault, found in zip(chosen, answers, strict=False):
            verdict = "SURVIVED" if found is None else f"found by {found}"
            print(f"{fault.name}: {verdict}", flush=True)
            if found is None:
                survived.append(fault)
        if (broken := next(answers)) is not None:
            raise SystemExit(f"without any fault the tests fail, too: {broken}")
    share = 1 - len(survived) / len(chosen)
    print(f"{len(chosen) - len(survived)} of {len(chosen)} faults found, {share:.0%}")
    return 0 if share >= REQUIRED else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
