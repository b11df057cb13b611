"""When this package was imported: a file that has changed since is not what this process runs."""

from __future__ import annotations

import time

STARTED = time.time_ns()
