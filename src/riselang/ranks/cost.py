"""The alpha-beta model: how long the messages of a plan take.

A message takes `alpha` seconds, and `beta` seconds for each of its bytes. A rank sends its messages
one after the other, while it receives others; a step takes as long as its slowest rank.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from riselang.ranks.execution import Exchange
from riselang.ranks.plan import Plan, Step


@dataclass(frozen=True)
class Traffic:
    """The messages of a step: those of the rank that sends or receives the most."""

    messages: int
    bytes: int
    total_messages: int
    total_bytes: int

    def seconds(self, alpha: float, beta: float) -> float:
        return alpha * self.messages + beta * self.bytes


def step_traffic(plan: Plan, step: Step) -> Traffic:
    """Return the messages of a step of a plan."""
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()
    total, total_bytes = 0, 0
    for each in Exchange(plan.mesh, step.axes, step.operands).transfers:
        if each.source != each.target:
            for end in (("sent", each.source), ("received", each.target)):
                counts[end] += 1
                sizes[end] += each.bytes
            total += 1
            total_bytes += each.bytes
    largest = max(counts.values(), default=0), max(sizes.values(), default=0)
    return Traffic(*largest, total, total_bytes)


def communication_seconds(plan: Plan, alpha: float, beta: float) -> float:
    """Predict how long all messages between the steps of a plan take."""
    return sum(step_traffic(plan, step).seconds(alpha, beta) for step in plan.steps)
