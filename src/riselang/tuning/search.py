"""Search algorithms: which values of the parameters to try next.

A search is asked for a choice of values, and is told its time, or None if it has none.
"""

from __future__ import annotations

import itertools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from riselang.support.errors import UserError
from riselang.tuning.spaces import Choices, Space

MAX_ATTEMPTS = 1000
"""The number of attempts to find a choice that satisfies the constraints and is new."""
SMALL_SIZE = 20_000
"""Of smaller spaces, all choices that are left are listed after a tenth of the attempts."""


class Search(ABC):
    """Chooses values of the parameters of a space; `start` is the first choice."""

    def __init__(self, space: Space, seed: int, start: Choices | None = None):
        self.space = space
        self.start = start
        self.random = Random(seed)
        self.times: dict[tuple[Any, ...], float] = {}
        """The seconds of each choice that was tried; infinite if it has none."""
        self._asked: set[tuple[Any, ...]] = set()
        """The choices whose times are not known yet."""

    def ask(self) -> Choices | None:
        """Return the values to try next; None if there is nothing left to try."""
        start, self.start = self.start, None
        choices = start if start is not None and self.is_new(start) else self.propose()
        if choices is not None:
            self._asked.add(self.space.key(choices))
        return choices

    @abstractmethod
    def propose(self) -> Choices | None:
        """Return the values to try after the first choice; None if there is nothing left."""

    def tell(self, choices: Choices, seconds: float | None) -> None:
        """Report the time of a choice, or that it has none."""
        key = self.space.key(choices)
        self._asked.discard(key)
        self.times[key] = math.inf if seconds is None else seconds

    def is_new(self, choices: Choices) -> bool:
        """Return whether a choice satisfies the constraints and has not been tried or asked."""
        key = self.space.key(choices)
        return key not in self.times and key not in self._asked and self.space.permits(choices)

    def random_choice(self) -> Choices | None:
        """Return a random choice that is new; None if there seems to be none."""
        parameters = self.space.parameters
        is_small = self.space.size < SMALL_SIZE
        for _ in range(MAX_ATTEMPTS // 10 if is_small else MAX_ATTEMPTS):
            choices = {name: self.random.choice(values) for name, values in parameters.items()}
            if self.is_new(choices):
                return choices
        keys = itertools.product(*parameters.values()) if is_small else ()
        left = [each for each in map(self.space.choices, keys) if self.is_new(each)]
        return self.random.choice(left) if left else None


class RandomSearch(Search):
    """Tries random choices."""

    def propose(self) -> Choices | None:
        return self.random_choice()


class GridSearch(Search):
    """Tries all choices in order."""

    def __init__(self, space: Space, seed: int, start: Choices | None = None):
        super().__init__(space, seed, start)
        self._choices: Iterator[Choices] = (
            dict(zip(space.parameters, values, strict=True))
            for values in itertools.product(*space.parameters.values())
        )

    def propose(self) -> Choices | None:
        return next((each for each in self._choices if self.is_new(each)), None)


class EvolutionSearch(Search):
    """Begins with random choices, then changes and combines the fastest ones.

    A change moves one or two parameters to a neighboring value, since values are in order of size,
    or rarely to any value.
    """

    RANDOM_CHOICES = 20
    """The number of random choices at first: with fewer, some seeds stay at a local optimum."""
    PARENTS = 6
    RANDOM_RATE = 0.1
    """The fraction of later choices that are random, and of changes to any value."""

    def propose(self) -> Choices | None:
        finite = [item for item in self.times.items() if math.isfinite(item[1])]
        measured = sorted(finite, key=lambda item: item[1])
        is_random = self.random.random() < self.RANDOM_RATE
        if len(self.times) < self.RANDOM_CHOICES or not measured or is_random:
            return self.random_choice()
        parents = [self.space.choices(key) for key, _ in measured[: self.PARENTS]]
        for _ in range(MAX_ATTEMPTS // 10):
            child = self._change(self._combine(parents))
            if self.is_new(child):
                return child
        return self.random_choice()

    def _combine(self, parents: list[Choices]) -> Choices:
        # The fastest parent is chosen most often.
        weights = [1 / (rank + 1) for rank in range(len(parents))]
        first, second = self.random.choices(parents, weights, k=2)
        return {
            name: (first if self.random.random() < 0.7 else second)[name]
            for name in self.space.parameters
        }

    def _change(self, choices: Choices) -> Choices:
        changed = dict(choices)
        count = self.random.choice((1, 2))
        names = [name for name, values in self.space.parameters.items() if len(values) > 1]
        for name in self.random.sample(names, min(count, len(names))):
            values = self.space.parameters[name]
            position = values.index(choices[name])
            if self.random.random() < self.RANDOM_RATE:
                changed[name] = self.random.choice(values)
            else:
                step = self.random.choice((-1, 1))
                changed[name] = values[min(max(position + step, 0), len(values) - 1)]
        return changed


class TreeParzenSearch(Search):
    """Optuna's tree-structured Parzen estimator: a model of which values the fast choices have."""

    def __init__(self, space: Space, seed: int, start: Choices | None = None):
        super().__init__(space, seed, start)
        try:
            import optuna
        except ImportError:
            raise UserError(
                'search="tpe" needs Optuna: pip install "riselang[tuning]", or use '
                'search="evolution"'
            ) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        self._study: Any = optuna.create_study(sampler=sampler)
        self._make_trial: Any = optuna.trial.create_trial
        self._distributions: dict[str, Any] = {
            name: optuna.distributions.IntDistribution(0, len(values) - 1)
            for name, values in space.parameters.items()
        }
        self._open: dict[tuple[Any, ...], Any] = {}

    def propose(self) -> Choices | None:
        for _ in range(MAX_ATTEMPTS // 10):
            trial = self._study.ask(self._distributions)
            choices = {
                name: values[trial.params[name]] for name, values in self.space.parameters.items()
            }
            key = self.space.key(choices)
            if self.is_new(choices):
                self._open[key] = trial
                return choices
            known = self.times.get(key, math.inf)
            self._study.tell(trial, self._value(known))
        return self.random_choice()

    def tell(self, choices: Choices, seconds: float | None) -> None:
        super().tell(choices, seconds)
        key = self.space.key(choices)
        trial, value = self._open.pop(key, None), self._value(self.times[key])
        if trial is not None:
            self._study.tell(trial, value)
            return
        positions = {
            name: values.index(choices[name]) for name, values in self.space.parameters.items()
        }
        self._study.add_trial(
            self._make_trial(params=positions, distributions=self._distributions, value=value)
        )

    def _value(self, seconds: float) -> float:
        """The value to minimize: the logarithm of the time; failures are worse than all times."""
        finite = [each for each in self.times.values() if math.isfinite(each)]
        return math.log(seconds if math.isfinite(seconds) else 10 * max(finite, default=1.0))


SEARCHES: Mapping[str, type[Search]] = {
    "evolution": EvolutionSearch,
    "random": RandomSearch,
    "grid": GridSearch,
    "tpe": TreeParzenSearch,
}


def make_search(name: str, space: Space, seed: int, start: Choices | None = None) -> Search:
    """Return the search algorithm of this name; it tries `start` first."""
    if name not in SEARCHES:
        raise UserError(f"search must be one of {', '.join(SEARCHES)}, but is {name!r}")
    return SEARCHES[name](space, seed, start)
