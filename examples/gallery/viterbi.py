"""Viterbi: the most probable path of hidden states in a Markov model."""

import numpy as np

import riselang as rl


@rl.jit
def viterbi(start, transitions, emissions):
    states = start.shape[0]

    def advance(score, observed):
        candidates = score[:, None] + transitions
        return candidates.max(axis=0) + observed

    first = start + emissions[0]
    scores = emissions[1:] | rl.scan(advance, first)
    before = rl.concatenate([first[None], scores[:-1]])
    sources = before | rl.map(lambda score: (score[:, None] + transitions).argmax(axis=0))
    last = scores[-1].argmax()
    path = sources[::-1] | rl.scan(lambda state, source: source[rl.clamp_idx(states, state)], last)
    return rl.concatenate([path[::-1], last.reshape(1)])


def expected(start, transitions, emissions):
    score, sources = start + emissions[0], []
    for observed in emissions[1:]:
        candidates = score[:, None] + transitions
        sources.append(candidates.argmax(axis=0))
        score = candidates.max(axis=0) + observed
    path = [score.argmax()]
    for source in reversed(sources):
        path.append(source[path[-1]])
    return np.array(path[::-1])


def example_inputs(size=1000):
    random = np.random.default_rng(3)
    probabilities = random.dirichlet(np.ones(16), (1 + 16 + size)).astype(np.float32)
    logarithms = np.log(probabilities + np.float32(1e-6))
    return logarithms[0], logarithms[1:17], logarithms[17:]
