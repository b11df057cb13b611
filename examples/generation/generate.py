"""Generate text with a decoder like GPT-2, one token after the other.

    python examples/generation/generate.py [--prompt TEXT] [--tokens N] [--tokenizer FILE]

The keys and values of all tokens so far are kept in a cache of a fixed capacity. A step computes
those of the new token, attends to the cache, and the new rows are written into it: nothing that
grows is computed again, copied or compiled. Tokens are bytes, or those of a `tokenizer.json`, which
the package `tokenizers` reads. The weights are random, so that the text makes no sense; the program
is that of a trained decoder.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import riselang as rl

Array = Any
"""A NumPy array; in a program, an array of riselang."""
Weights = Mapping[str, Array]
LEAST = np.float32(-1e9)
"""The score of a token that attention must not see."""


@dataclass(frozen=True)
class Sizes:
    layers: int = 4
    width: int = 256
    heads: int = 8
    capacity: int = 512
    """The number of tokens that the cache holds."""
    vocabulary: int = 256


def random_weights(sizes: Sizes, seed: int = 0) -> tuple[Weights, Sequence[Weights]]:
    """Return the embeddings, and the weights of each layer."""
    source, width = np.random.default_rng(seed), sizes.width

    def normal(*shape: int, scale: float) -> Array:
        return scale * source.standard_normal(shape, np.float32)

    embeddings = {
        "tokens": normal(sizes.vocabulary, width, scale=0.5),
        "positions": normal(sizes.capacity, width, scale=0.5),
    }
    scale = width**-0.5
    layers = [
        {
            "queries, keys, values": normal(width, 3 * width, scale=3 * scale),
            "mixed": normal(width, width, scale=scale),
            "inner": normal(width, 4 * width, scale=scale),
            "outer": normal(4 * width, width, scale=scale / 2),
        }
        for _ in range(sizes.layers)
    ]
    return embeddings, layers


# The decoder, for rows of any number


def normalized(x: Array) -> Array:
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered * centered).mean(axis=-1, keepdims=True)
    return centered / rl.math.sqrt(variance + np.float32(1e-5))


def gelu(x: Array) -> Array:
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + rl.math.tanh(inner))


def softmax(x: Array) -> Array:
    powers = rl.math.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def in_heads(x: Array, sizes: Sizes) -> Array:
    """Convert rows to heads x rows x elements."""
    return x.reshape(-1, sizes.heads, sizes.width // sizes.heads).transpose(1, 0, 2)


Attend = Callable[[int, Array, Array, Array], Array]
"""Computes attention in a layer, given the queries, keys and values of the heads."""


def decode(x: Array, layers: Sequence[Weights], sizes: Sizes, attend: Attend) -> Array:
    """Return the states after all layers."""
    for number, weights in enumerate(layers):
        joint = normalized(x) @ weights["queries, keys, values"]
        width = sizes.width
        parts = [in_heads(joint[:, k * width : (k + 1) * width], sizes) for k in range(3)]
        mixed = attend(number, *parts).transpose(1, 0, 2).reshape(-1, width)
        x = x + mixed @ weights["mixed"]
        x = x + gelu(normalized(x) @ weights["inner"]) @ weights["outer"]
    return normalized(x)


def attention(query: Array, key: Array, value: Array, mask: Array) -> Array:
    scores = query @ key.transpose(0, 2, 1) * np.float32(key.shape[-1] ** -0.5)
    return softmax(rl.where(mask, scores, LEAST)) @ value


def step_program(layers: Sequence[Weights], table: Array, sizes: Sizes) -> Callable[..., Any]:
    """Return a program that computes the scores of the next token from the last one.

    The cache holds the keys and values of earlier tokens; `is_earlier` says which of its rows are
    in use. The weights are constants of the program.
    """
    capacity, scale = sizes.capacity, np.float32((sizes.width // sizes.heads) ** -0.5)

    @rl.jit(float="relaxed")
    def step(keys: Any, values: Any, is_earlier: Any, x: Any) -> Any:
        new: list[tuple[Array, Array]] = []

        def attend(number: int, query: Array, key: Array, value: Array) -> Array:
            new.append((key, value))
            scores = query @ keys[number].transpose(0, 2, 1) * scale
            scores = rl.where(is_earlier, scores, LEAST)
            own = (query * key).sum(axis=-1, keepdims=True) * scale
            shares = softmax(rl.concatenate([scores, own], axis=-1))
            return shares[:, :, :capacity] @ values[number] + shares[:, :, capacity:] * value

        states = decode(x, layers, sizes, attend)
        scores = states @ table.T
        return scores[0], rl.stack([k for k, _ in new]), rl.stack([v for _, v in new])

    return step


class Decoder:
    """A decoder with a cache."""

    def __init__(self, sizes: Sizes, seed: int = 0) -> None:
        self.sizes = sizes
        self.embeddings, self.layers = random_weights(sizes, seed)
        self._step = step_program(self.layers, self.embeddings["tokens"], sizes)
        shape = (sizes.layers, sizes.heads, sizes.capacity, sizes.width // sizes.heads)
        self.keys, self.values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.is_earlier = np.zeros(sizes.capacity, bool)
        self.length = 0

    def restart(self) -> None:
        self.is_earlier[:] = False
        self.length = 0

    def read(self, token: int) -> Array:
        """Append a token, and return the scores of the next one."""
        position = self.length
        if position == self.sizes.capacity:
            raise ValueError(f"the cache holds {self.sizes.capacity} tokens, and is full")
        x = self.embeddings["tokens"][token] + self.embeddings["positions"][position]
        scores, keys, values = self._step(self.keys, self.values, self.is_earlier, x[None])
        self.keys[:, :, position : position + 1] = keys
        self.values[:, :, position : position + 1] = values
        self.is_earlier[position] = True
        self.length += 1
        return scores

    def generate(self, prompt: Sequence[int], count: int) -> Iterator[int]:
        """Yield the most likely tokens after a prompt."""
        self.restart()
        scores = [self.read(token) for token in prompt][-1]
        for k in range(count):
            token = int(scores.argmax())
            yield token
            if k + 1 < count:
                scores = self.read(token)


def scores_program(decoder: Decoder) -> Callable[..., Any]:
    """Return a program that computes the scores after all tokens, without a cache."""
    sizes, table = decoder.sizes, decoder.embeddings["tokens"]
    mask = np.tri(sizes.capacity, dtype=bool)

    @rl.jit(float="relaxed")
    def scores(x: Any) -> Any:
        def attend(_: int, query: Array, key: Array, value: Array) -> Array:
            return attention(query, key, value, mask)

        return decode(x, decoder.layers, sizes, attend) @ table.T

    return scores


def generate_without_cache(decoder: Decoder, prompt: Sequence[int], count: int) -> list[int]:
    """Return the same tokens, computing all states again for each of them."""
    program, sizes = scores_program(decoder), decoder.sizes
    tokens = list(prompt)
    for _ in range(count):
        padded = np.array(tokens + [0] * (sizes.capacity - len(tokens)))
        x = decoder.embeddings["tokens"][padded] + decoder.embeddings["positions"]
        tokens.append(int(program(x)[len(tokens) - 1].argmax()))
    return tokens[len(prompt) :]


class Bytes:
    """A tokenizer whose tokens are bytes."""

    count = 256

    def encode(self, text: str) -> Sequence[int]:
        return text.encode()

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode("latin-1")


class FromFile:
    """The tokenizer in a `tokenizer.json`."""

    def __init__(self, path: str) -> None:
        self._tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(path)
        self.count: int = self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> Sequence[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Sequence[int]) -> str:
        return self._tokenizer.decode(list(tokens))


def main() -> None:
    parser = argparse.ArgumentParser(description="generate text with a decoder")
    parser.add_argument("--prompt", default="Functional programs ")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json")
    arguments = parser.parse_args()
    tokenizer = FromFile(arguments.tokenizer) if arguments.tokenizer else Bytes()
    prompt = tokenizer.encode(arguments.prompt)
    if not prompt or len(prompt) + arguments.tokens > Sizes.capacity:
        parser.error(f"expected a prompt, and at most {Sizes.capacity} tokens with it")
    decoder = Decoder(Sizes(vocabulary=tokenizer.count))
    start = time.perf_counter()
    decoder.read(prompt[0])
    print(f"compiled in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    tokens = list(decoder.generate(prompt, arguments.tokens))
    taken = time.perf_counter() - start
    print(repr(arguments.prompt), "->", repr(tokenizer.decode(tokens)))
    print(f"{decoder.length / taken:.0f} tokens per second")


if __name__ == "__main__":
    main()
