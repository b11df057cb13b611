"""Files around the code: workflows, issue forms, hooks and CONTRIBUTING.md name what exists."""

from __future__ import annotations

import functools
import re
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml  # installed with myst-parser, which the documentation needs

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [
    path
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    if path.name != "config.yml"
]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MAKE = re.compile(r"(?:^|`)make ([a-z][a-z-]*)((?: [A-Z]+=\S+)*)", re.MULTILINE)
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
PATH = re.compile(r"`((?:src|tests|docs|benchmarks|\.github)/[\w./-]+|[\w.-]+\.(?:toml|yaml|md))`")
SOURCE = re.compile(r"`([\w/]+(?:\.(?:py|ll)|/))`")
IDENTIFIER = re.compile(r"`(@\w+|\w*_\w*|[A-Z]{3,})(?:\(.*?\))?`")
WORD = re.compile(r"(?:^ *@)?\b[A-Za-z_]\w*", re.MULTILINE)
NAME = re.compile(r"`(\w+)` in `((?:src|tests)/[\w./-]+\.py)`")
FIELDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def targets() -> set[str]:
    """The targets of the Makefile that people call."""
    (listed,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(listed.split())


def variables() -> set[str]:
    """The variables of the Makefile that may be given."""
    return set(re.findall(r"^([A-Z]+) \?=", (ROOT / "Makefile").read_text(), re.MULTILINE))


def assert_targets_exist(text: str) -> None:
    for target, given in MAKE.findall(text):
        assert target in targets(), f"the Makefile has no target {target}"
        for assignment in given.split():
            name = assignment.partition("=")[0]
            assert name in variables(), f"the Makefile has no variable {name}"


def commands(workflow: Any) -> list[str]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_make_targets_that_exist(path: Path) -> None:
    run = commands(read(path))
    assert any(MAKE.search(command) for command in run)
    for command in run:
        assert_targets_exist(command)


def test_changes_are_checked_on_every_system_and_python_that_we_name() -> None:
    job = read(ROOT / ".github/workflows/ci.yml")["jobs"]["test"]
    assert commands({"jobs": {"test": job}}) == ["make demo", "make test"]
    matrix = job["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-14"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for version in matrix["python"]:
        assert f"Programming Language :: Python :: {version}" in project["classifiers"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_has_what_forms_need(path: Path) -> None:
    form = read(path)
    assert form.keys() == {"name", "description", "labels", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert any(field.get("validations", {}).get("required") for field in fields)
    names = [field["id"] for field in fields]
    assert len(names) == len(set(names))
    for field in form["body"]:
        assert field["type"] in FIELDS
        needed = "value" if field["type"] == "markdown" else "label"
        assert field["attributes"][needed]
        assert field["type"] != "dropdown" or len(field["attributes"]["options"]) > 1


def test_the_hooks_run_tools_of_the_virtual_environment() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")


def test_contributing_lists_every_make_target() -> None:
    assert_targets_exist(CONTRIBUTING)
    listed = set(re.findall(r"^\| `make ([a-z-]+)` \|", CONTRIBUTING, re.MULTILINE))
    assert listed == targets() - {"clean"}


@pytest.mark.parametrize("name", sorted(set(PATH.findall(CONTRIBUTING))))
def test_files_named_in_contributing_exist(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", sorted(set(SOURCE.findall(ARCHITECTURE))))
def test_files_named_in_the_architecture_page_exist(name: str) -> None:
    assert (ROOT / "src" / "riselang" / name).exists() or (ROOT / name).exists()


@functools.cache
def source_words() -> frozenset[str]:
    """The identifiers in the Python sources; a decorator begins with `@`."""
    paths = [path for folder in ("src", "tests", "docs") for path in ROOT.glob(f"{folder}/**/*.py")]
    return frozenset(word.strip() for path in paths for word in WORD.findall(path.read_text()))


@pytest.mark.parametrize("name", sorted(set(IDENTIFIER.findall(CONTRIBUTING))))
def test_identifiers_in_contributing_exist(name: str) -> None:
    assert name in source_words()


def test_names_said_to_be_in_a_file_are_there() -> None:
    found = NAME.findall(CONTRIBUTING)
    assert found
    for name, file in found:
        assert re.search(rf"\b{name}\b", (ROOT / file).read_text()), f"{file} has no {name}"


def test_commit_subjects_are_described_the_same_way_everywhere() -> None:
    template = (ROOT / ".github/pull_request_template.md").read_text()
    for text in (CONTRIBUTING, template):
        assert "`area: do something`" in text
        assert "at most 72 characters" in text


def test_the_package_is_typed() -> None:
    assert (ROOT / "src/riselang/py.typed").exists()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "Typing :: Typed" in project["classifiers"]
    # Beside an SPDX expression, a classifier for the license is an error.
    assert not any(each.startswith("License ::") for each in project["classifiers"])


def test_what_make_quick_runs_exists() -> None:
    command = ["make", "-n", "-o", ".venv/all", "quick"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"(?<= )tests/\S+", printed)
    assert paths
    for path in paths:
        assert (ROOT / path).exists(), path


def test_filecheck_tests_run_the_sources_of_this_checkout() -> None:
    """Also with an environment that has another checkout installed."""
    path = ROOT / "tests/filecheck/lit.cfg"
    config = SimpleNamespace(environment={"PATH": "", "PYTHONPATH": "/elsewhere"})
    exec(compile(path.read_text(), str(path), "exec"), {"config": config, "__file__": str(path)})
    assert config.environment["PYTHONPATH"] == str(ROOT / "src")
