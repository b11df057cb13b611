"""The alpha-beta model: how long the messages of a plan take.

A message takes `alpha` seconds, and `beta` seconds for each of its bytes. A rank sends its messages
one after the other, while it receives others; a hop takes as long as its slowest rank.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from riselang.ranks.execution import Exchange
from riselang.ranks.plan import Plan, Step


@dataclass(frozen=True)
class Traffic:
    """The messages of a step: in each hop, those of the rank that sends or receives the most."""

    messages: int
    bytes: int
    total_messages: int
    total_bytes: int

    def seconds(self, alpha: float, beta: float) -> float:
        return alpha * self.messages + beta * self.bytes


def step_traffic(plan: Plan, step: Step) -> Traffic:
    """Return the messages of a step of a plan."""
    transfers = Exchange(plan.mesh, step.axes, step.operands).transfers
    sent = [each for each in transfers if each.source != each.target]
    counts: Counter[tuple[int, str, int]] = Counter()
    sizes: Counter[tuple[int, str, int]] = Counter()
    for each in sent:
        for end in ((each.hop, "sent", each.source), (each.hop, "received", each.target)):
            counts[end] += 1
            sizes[end] += each.bytes
    total_bytes = sum(each.bytes for each in sent)
    return Traffic(_sum_of_hops(counts), _sum_of_hops(sizes), len(sent), total_bytes)


def _sum_of_hops(amounts: Counter[tuple[int, str, int]]) -> int:
    largest: dict[int, int] = {}
    for (hop, _, _), amount in amounts.items():
        largest[hop] = max(amount, largest.get(hop, 0))
    return sum(largest.values())


def communication_seconds(plan: Plan, alpha: float, beta: float) -> float:
    """Predict how long all messages between the steps of a plan take."""
    return sum(step_traffic(plan, step).seconds(alpha, beta) for step in plan.steps)
