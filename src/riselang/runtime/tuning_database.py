"""The tuning database: which strategy is the fastest known for a program on a machine.

It is an SQLite file next to the kernel cache. `rl.tune` writes it, and the compiler reads it. A
strategy is stored as text, which is parsed and never executed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from riselang.support import config
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.machine import this_machine
from riselang.term.digest import digest
from riselang.term.nodes import Term
from riselang.version import __version__

TABLES = """
create table if not exists programs (key text primary key, program text, options text,
  machine text, version text);
create table if not exists trials (key text, strategy text, choices text, status text,
  seconds real, reason text, primary key (key, strategy));
create table if not exists best (key text primary key, strategy text, seconds real,
  default_seconds real);
"""
TIMEOUT = 10.0
"""Seconds to wait for another process that writes the database."""


@dataclass(frozen=True)
class Trial:
    """A strategy that was tried: its time, or why it has none."""

    strategy: str
    choices: Mapping[str, int | str]
    status: str
    """"measured", or why there is no time: "pruned", "inapplicable", "wrong", "failed" or
    "timeout"."""
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class BestStrategy:
    """The fastest strategy of a program, and the seconds of it and of the default strategy."""

    strategy: str
    seconds: float
    default_seconds: float


def program_key(term: Term, options: Options) -> str:
    """Return the key of a program on this machine, with this version of riselang."""
    parts = (digest(term, every_location=False), options.float, options.loops, options.library)
    content = "\n".join(map(str, (*parts, this_machine(), __version__)))
    return hashlib.sha256(content.encode()).hexdigest()


def find_best(term: Term, options: Options) -> BestStrategy | None:
    """Return the fastest known strategy of a program; None if it has not been tuned."""
    return Database(config.tuning_database()).best(program_key(term, options))


@dataclass(frozen=True)
class Database:
    """A file with the trials of all programs that were tuned."""

    path: Path

    @contextmanager
    def _connect(self) -> Generator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=TIMEOUT)
            try:
                with connection:
                    connection.executescript(TABLES)
                    yield connection
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"the tuning database {self.path} cannot be used: {error}") from None

    def best(self, key: str) -> BestStrategy | None:
        """Return the fastest known strategy of a program."""
        with self._connect() as connection:
            row = connection.execute(
                "select strategy, seconds, default_seconds from best where key = ?", (key,)
            ).fetchone()
        return None if row is None else BestStrategy(*row)

    def set_best(self, key: str, best: BestStrategy) -> None:
        """Set the strategy that the compiler uses for a program."""
        with self._connect() as connection:
            connection.execute(
                "insert or replace into best values (?, ?, ?, ?)",
                (key, best.strategy, best.seconds, best.default_seconds),
            )

    def add_program(self, key: str, program: str, options: Options) -> None:
        """Describe the program of a key, for readers of the database."""
        row = (key, program, str(options), str(this_machine()), __version__)
        with self._connect() as connection:
            connection.execute("insert or ignore into programs values (?, ?, ?, ?, ?)", row)

    def add_trial(self, key: str, trial: Trial) -> None:
        """Record a trial; a later trial of the same strategy replaces it."""
        choices = json.dumps(dict(trial.choices))
        row = (key, trial.strategy, choices, trial.status, trial.seconds, trial.reason)
        with self._connect() as connection:
            connection.execute("insert or replace into trials values (?, ?, ?, ?, ?, ?)", row)

    def trials(self, key: str) -> list[Trial]:
        """Return all trials of a program, in the order in which they were made."""
        with self._connect() as connection:
            rows = connection.execute(
                "select strategy, choices, status, seconds, reason from trials where key = ? "
                "order by rowid",
                (key,),
            ).fetchall()
        return [Trial(row[0], json.loads(row[1]), *row[2:]) for row in rows]
