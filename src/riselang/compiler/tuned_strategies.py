"""Which strategy to apply to a program: a tuned one, if the tuning database has one."""

from __future__ import annotations

from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT, TUNED
from riselang.support import config
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.term.nodes import Term


def choose_strategy(strategy: Strategy | None, term: Term, options: Options) -> Strategy | None:
    """Return the tuned strategy in place of the default one; other strategies are unchanged."""
    if strategy is not DEFAULT and strategy is not TUNED:
        return strategy
    best = None
    if config.tuning_database().exists():
        # Imported only here, since most programs are never tuned.
        from riselang.runtime.tuning_database import find_best

        best = find_best(term, options)
    if best is None and strategy is TUNED:
        raise UserError(
            'strategy="tuned" needs an entry in the tuning database for this program, these sizes, '
            "options and this machine; search for one with rl.tune, or with 'rise tune'"
        )
    if best is None or best.strategy == str(DEFAULT):
        return DEFAULT
    from riselang.rewrite.combinators import choice, try_
    from riselang.rewrite.strategy_text import parse_strategy

    # If a rule has changed since, so that the strategy does not apply, use the default one.
    return choice(parse_strategy(best.strategy, "<tuning database>"), try_(DEFAULT))
