"""Viterbi: the most probable path of hidden states in a Markov model."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def viterbi(start: rl.Array, transitions: rl.Array, emissions: rl.Array) -> rl.Array:
    def advance(score: rl.Array, observed: rl.Array) -> rl.Array:
        return (score[:, None] + transitions).max(axis=0) + observed

    def go_back(state: rl.Array, score: rl.Array) -> rl.Array:
        return (score + transitions[:, rl.clamp_idx(states, state)]).argmax()

    states, first = start.shape[0], start + emissions[0]
    scores = rl.concatenate([first[None], emissions[1:] | rl.scan(advance, first)])
    last = scores[-1].argmax()
    path = scores[:-1][::-1] | rl.scan(go_back, last)
    return rl.concatenate([path[::-1], last.reshape(1)])


def expected(start: Any, transitions: Any, emissions: Any) -> Any:
    scores = [start + emissions[0]]
    for observed in emissions[1:]:
        scores.append((scores[-1][:, None] + transitions).max(axis=0) + observed)
    path = [scores[-1].argmax()]
    for score in reversed(scores[:-1]):
        path.append((score + transitions[:, path[-1]]).argmax())
    return np.array(path[::-1])


def example_inputs(size: int = 1000) -> tuple[Any, ...]:
    random = np.random.default_rng(3)
    probabilities = random.dirichlet(np.ones(16), (1 + 16 + size)).astype(np.float32)
    logarithms = np.log(probabilities + np.float32(1e-6))
    return logarithms[0], logarithms[1:17], logarithms[17:]
