"""Run the test suite of the Python array API standard with the adapter.

    python tests/array_api/run.py FOLDER [pytest arguments]

FOLDER is a checkout of github.com/data-apis/array-api-tests with its submodule; its requirements
must be installed. `skips.txt` lists the tests that do not apply, with reasons.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
FILES = (
    "test_array_object.py", "test_creation_functions.py", "test_data_type_functions.py",
    "test_indexing_functions.py", "test_manipulation_functions.py",
    "test_operators_and_elementwise_functions.py", "test_searching_functions.py",
    "test_sorting_functions.py", "test_statistical_functions.py", "test_utility_functions.py",
    "test_linalg.py", "test_special_cases.py", "test_constants.py",
)  # fmt: skip


UNSUPPORTED = ("[acosh", "[asinh", "[atanh", "[nextafter", "real(", "imag(")
"""Parts of the names of special cases: of functions that are missing, and of complex numbers."""


class Selection:
    """A plugin that deselects the tests that are not supported."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not any(each in item.nodeid for each in UNSUPPORTED)]


def has_complex(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(has_complex(each) for each in value)
    return getattr(value, "kind", "") == "c"


def without_complex(value: Any) -> Any:
    """Return a table of the suite without the complex types, which it requires to be defined."""
    if type(value) in (tuple, list):
        return type(value)(without_complex(each) for each in value if not has_complex(each))
    if type(value) is dict:
        return {key: without_complex(each) for key, each in value.items()}
    if (pairs := getattr(value, "_key_value_pairs", None)) is not None:
        return type(value)([pair for pair in pairs if not has_complex(pair)])
    return value


def main(suite: str, *arguments: str) -> int:
    os.environ.setdefault("ARRAY_API_TESTS_MODULE", "adapter")
    sys.path[:0] = [str(FOLDER), suite]
    os.chdir(suite)
    helpers = import_module("array_api_tests.dtype_helpers")
    for name, value in list(vars(helpers).items()):
        if not name.startswith("__"):
            setattr(helpers, name, without_complex(value))
    files = [] if any("array_api_tests/" in each for each in arguments) else FILES
    return pytest.main(
        [
            *(f"--rootdir={suite}", "-p", "no:cacheprovider"),
            f"--skips-file={FOLDER / 'skips.txt'}",
            *("--disable-deadline", "--disable-dds", "--disable-extension", "fft"),
            *arguments,
            *(f"array_api_tests/{file}" for file in files),
        ],
        plugins=[Selection()],
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
