"""`rise new`: make a project with a kernel, its test and its benchmark."""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path
from shlex import quote

from riselang.support.errors import UserError
from riselang.support.io import write_file

FILES = {
    "README.md": "README.md.template",
    ".gitignore": "gitignore.template",
    "kernels.py": "kernels.py.template",
    "test_kernels.py": "test_kernels.py.template",
    "benchmark.py": "benchmark.py.template",
}
"""The files of a project, and their templates."""


def add_new_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", help="the folder to make; its last part names the project")


def make_project(options: argparse.Namespace) -> None:
    """Run the command `rise new`."""
    folder = Path(options.name)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(f"'{folder}' exists; choose a new name, or an empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"'{folder}' cannot be made: {error.strerror}") from None
    templates = resources.files("riselang.tools").joinpath("project_template")
    for name, template in FILES.items():
        text = templates.joinpath(template).read_text()
        write_file(str(folder / name), text.replace("NAME", folder.resolve().name))
    print(f"made the project '{folder}': {', '.join(FILES)}")
    print(f"next: cd {quote(str(folder))} && pytest && python benchmark.py")
