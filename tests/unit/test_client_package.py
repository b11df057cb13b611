"""A package that sees only the wheel: it runs, and mypy and pyright accept it in strict mode.

Both accept the examples, too: `make lint` runs pyright on them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from client_package.client.kernels import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CLIENT = ROOT / "tests" / "client_package"
EXPECTED = [14.0, 18.0, 0.0, 3.0, 12.0, 14**0.5, 14.0]
MYPY = ["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"]
PYRIGHT_SETTINGS = '{"typeCheckingMode": "strict", "include": ["client"]}'


def test_the_client_runs() -> None:
    assert run() == pytest.approx(EXPECTED)


def execute(*command: str | Path, folder: Path) -> str:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["RISE_CACHE_DIR"] = str(folder / "cache")
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client, and a virtual environment with the wheel and its dependencies."""
    if find_spec("hatchling") is None:
        pytest.skip("building a wheel needs hatchling")
    folder = tmp_path_factory.mktemp("client")
    build = ("-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    execute(sys.executable, *build, folder=ROOT)
    (wheel,) = folder.glob("riselang-*.whl")
    venv.create(folder / "venv", with_pip=False)
    packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", packages)
    execute(sys.executable, *pip, wheel, folder=folder)
    (packages / "dependencies.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    (folder / "client").symlink_to(CLIENT / "client")
    return folder


@pytest.mark.nightly
def test_the_client_runs_with_the_wheel(installed: Path) -> None:
    script = (
        "import riselang; from client.kernels import run\n"
        "assert 'venv' in riselang.__file__; print(*run())"
    )
    python = installed / "venv" / "bin" / "python"
    results = execute(python, "-c", script, folder=installed)
    assert list(map(float, results.split())) == pytest.approx(EXPECTED)
    doctor = execute(python, "-m", "riselang.tools.rise", "doctor", folder=installed)
    assert doctor.endswith("no problems found\n")


@pytest.mark.nightly
def test_mypy_accepts_the_client(installed: Path) -> None:
    pytest.importorskip("mypy")
    python = installed / "venv" / "bin" / "python"
    options = (installed / "mypy", "--python-executable", python, "client")
    execute(sys.executable, *MYPY, *options, folder=installed)


@pytest.mark.nightly
@pytest.mark.parametrize("group", ["programs", "gallery", "digits", "models", "."])
def test_mypy_accepts_the_examples(group: str, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nmypy_path = {ROOT / 'src'}\n")
    options = ("--config-file", tmp_path / "mypy.ini", "--follow-imports", "silent")
    files = sorted((EXAMPLES / group).glob("*.py"))
    assert files
    execute(sys.executable, *MYPY, tmp_path / "cache", *options, *files, folder=tmp_path)


@pytest.mark.nightly
def test_pyright_accepts_the_client(installed: Path) -> None:
    (installed / "pyrightconfig.json").write_text(PYRIGHT_SETTINGS)
    python = installed / "venv" / "bin" / "python"
    execute("pyright", "--pythonpath", python, "-p", ".", folder=installed)
