"""The time of import of this package: this process does not run files that changed later."""

from __future__ import annotations

import time

STARTED = time.time_ns()
