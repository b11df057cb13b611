"""Assertions of the helper module explain themselves as those of tests do."""

import pytest

pytest.register_assert_rewrite("running")
