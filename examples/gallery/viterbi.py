"""Viterbi: the most probable path of hidden states in a Markov model."""

import numpy as np

import riselang as rl


@rl.jit
def viterbi(start, transitions, emissions):
    def advance(score, observed):
        return (score[:, None] + transitions).max(axis=0) + observed

    def go_back(state, score):
        return (score + transitions[:, rl.clamp_idx(states, state)]).argmax()

    states, first = start.shape[0], start + emissions[0]
    scores = rl.concatenate([first[None], emissions[1:] | rl.scan(advance, first)])
    last = scores[-1].argmax()
    path = scores[:-1][::-1] | rl.scan(go_back, last)
    return rl.concatenate([path[::-1], last.reshape(1)])


def expected(start, transitions, emissions):
    scores = [start + emissions[0]]
    for observed in emissions[1:]:
        scores.append((scores[-1][:, None] + transitions).max(axis=0) + observed)
    path = [scores[-1].argmax()]
    for score in reversed(scores[:-1]):
        path.append((score + transitions[:, path[-1]]).argmax())
    return np.array(path[::-1])


def example_inputs(size=1000):
    random = np.random.default_rng(3)
    probabilities = random.dirichlet(np.ones(16), (1 + 16 + size)).astype(np.float32)
    logarithms = np.log(probabilities + np.float32(1e-6))
    return logarithms[0], logarithms[1:17], logarithms[17:]
