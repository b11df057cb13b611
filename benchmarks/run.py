"""Runs every benchmark in this folder, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELPERS = {"run", "timing", "hand_written"}


def main() -> None:
    failed = False
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in HELPERS:
            print(f"== {path.stem}", flush=True)
            failed |= subprocess.run([sys.executable, str(path)], check=False).returncode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
