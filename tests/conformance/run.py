"""JAX's own export harness: how many of its cases pass, by op.

    python tests/conformance/run.py [--first N] [--last N] [--op NAME] [--dtypes A,B]
                                     [--fallback linalg]

Each case is exported by JAX, imported, compiled, run, and compared with what JAX computes. It
passes, or is refused by name; a wrong result, a crash or a hang makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

PATIENCE = 600.0
"""Seconds that a case may take; the longest takes 20 on a quiet core."""
WORKER = Path(__file__).parent / "worker.py"
DTYPES = "float32,int32,bool"
WANTED = 0.6
"""The part of all cases that has to pass."""


def run_from(
    first: int, last: int, op: str, dtypes: str, fallback: str
) -> tuple[list[dict[str, Any]], int | None]:
    """What a process finds, and the number of the case that it went down with, if it did."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "RISE_CACHE": "0"}
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(first), str(last), op, dtypes, fallback],
        stdout=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    found: list[dict[str, Any]] = []
    current: dict[str, Any] = {"number": first, "name": "start"}
    reason = "crash"
    while True:
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        if not ready:
            reason = f"no end in {PATIENCE:.0f} s"
            break
        line = process.stdout.readline()
        if not line:
            break
        fact = json.loads(line)
        if "end" in fact:
            process.wait()
            return found, None
        if "status" in fact:
            found.append({**fact, "name": current["name"]})
        else:
            current = fact
    process.kill()
    process.wait()
    found.append({**current, "op": "?", "status": "failed", "reason": reason})
    return found, int(current["number"])


def run_all(first: int, last: int, op: str, dtypes: str, fallback: str) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = []
    start: int | None = first
    while start is not None and start < last:
        found, down = run_from(start, last, op, dtypes, fallback)
        facts += found
        start = None if down is None else down + 1
    return facts


def report(facts: list[dict[str, Any]]) -> str:
    """A line for each op, and for each reason why cases were refused or failed."""
    by_op: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        by_op[fact["op"]][fact["status"]] += 1
    lines = [f"{'op':34} passed refused wrong failed"]
    for op, counts in sorted(by_op.items()):
        shown = "".join(
            f"{counts[status] or '':>7}" for status in ("passed", "refused", "wrong", "failed")
        )
        lines.append(f"{op:34}{shown}")
    reasons = Counter(fact["reason"] for fact in facts if fact["status"] == "refused")
    lines += ["", "refused:", *(f"{count:5}  {reason}" for reason, count in reasons.most_common())]
    bad = [fact for fact in facts if fact["status"] in ("wrong", "failed")]
    if bad:
        lines += ["", "not right:"]
        lines += [f"{each['name']}: {each['status']}: {each['reason'][:300]}" for each in bad]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=1 << 30)
    parser.add_argument("--op", default="", help="the cases of one op alone")
    parser.add_argument("--dtypes", default=DTYPES, help="those of the cases to take")
    parser.add_argument("--fallback", default="", help="what takes ops that are no patterns")
    options = parser.parse_args()
    start = time.time()
    facts = run_all(options.first, options.last, options.op, options.dtypes, options.fallback)
    counts = Counter(fact["status"] for fact in facts)
    counted = sum(count for status, count in counts.items() if status != "skipped")
    print(report(facts))
    share = counts["passed"] / max(counted, 1)
    print(
        f"\n{counts['passed']} of {counted} cases pass ({share:.1%}), {counts['refused']} are "
        f"refused, {counts['wrong']} wrong, {counts['failed']} failed, "
        f"in {time.time() - start:.0f} s"
    )
    return 1 if counts["wrong"] or counts["failed"] or share < WANTED else 0


if __name__ == "__main__":
    sys.exit(main())
