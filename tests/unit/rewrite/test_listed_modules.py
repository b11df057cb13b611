"""The registry lists every module that defines rules or strategies, so that the order of imports
does not decide what is known or documented."""

from importlib import import_module
from pathlib import Path

import pytest

from riselang.rewrite import registry, rules, strategies


def modules_of(package):
    return {path.stem for path in Path(package.__path__[0]).glob("*.py")} - {"__init__"}


def test_every_module_of_rules_is_a_family():
    assert modules_of(rules) == set(registry.RULE_FAMILIES)


@pytest.mark.parametrize("name", sorted(modules_of(strategies)))
def test_modules_that_register_strategies_are_listed(name):
    registry.load_all()
    module = import_module(f"{strategies.__name__}.{name}").__name__
    registers = any(entry.module == module for entry in registry.ENTRIES.values())
    assert not registers or name in registry.STRATEGY_MODULES
