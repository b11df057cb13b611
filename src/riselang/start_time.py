"""The time of import of this package: this process does not run files that changed later."""

from __future__ import annotations

import time

START_TIME = time.time_ns()
