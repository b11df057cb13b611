"""The model of a region: domains, access relations, dependences and the schedule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.schedule.user_schedules import format_schedule

DEPENDENCES = ("flow", "anti", "output")


def describe_model(scop: Scop) -> dict[str, Any]:
    """Describe a region in values of JSON, with relations as isl writes them."""
    pairs = dependences(scop)
    return {
        "name": scop.name,
        "location": str(scop.location),
        "parameters": [each.name for each in scop.parameters],
        "statements": [_describe_statement(each) for each in scop.statements],
        "dependences": None
        if pairs is None
        else {kind: getattr(pairs, kind).coalesce().to_str() for kind in DEPENDENCES},
        "schedule": None if scop.schedule is None else format_schedule(scop.schedule),
    }


def _describe_statement(statement: ModelStatement) -> dict[str, Any]:
    relations = [
        {
            "kind": "write" if access in statement.writes else "read",
            "location": str(access.location),
            "relation": found.relation.to_str(),
            "exact": found.is_exact,
        }
        for access, found in statement.access_relations.items()
    ]
    return {
        "name": statement.name,
        "location": str(statement.location),
        "domain": statement.domain.to_str(),
        "accesses": sorted(relations, key=lambda each: (each["location"], each["kind"])),
    }


def format_models_as_json(scops: Sequence[Scop]) -> str:
    return json.dumps([describe_model(scop) for scop in scops], indent=2) + "\n"


def format_models(scops: Sequence[Scop]) -> str:
    """Format the models of regions as text."""
    return "\n".join(_format_model(describe_model(scop)) for scop in scops)


def _format_model(model: dict[str, Any]) -> str:
    lines = [f"{model['location']}: {model['name']}"]
    for statement in model["statements"]:
        lines.append(f"  {statement['location']}: {statement['name']}")
        lines.append(f"    domain  {statement['domain']}")
        lines += [f"    {each['kind']:7} {each['relation']}" for each in statement["accesses"]]
    found = model["dependences"]
    lines += [f"  {kind:7} {found[kind]}" for kind in DEPENDENCES] if found else []
    if model["schedule"]:
        lines += ["  schedule", *(f"    {line}" for line in model["schedule"].splitlines())]
    return "\n".join(lines) + "\n"
