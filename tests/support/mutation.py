"""Texts with tokens changed, and no texts at all."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class Language:
    """What broken texts are made of."""

    make_texts: Callable[[], Sequence[str]]
    """Returns texts without errors; called when they are needed, since programs take long."""
    token: re.Pattern[str]
    words: Sequence[str]
    signs: Sequence[str]

    @cached_property
    def texts(self) -> Sequence[str]:
        return self.make_texts()

    def broken(self, seed: int) -> bytes:
        """A text with some of its tokens changed, words without sense, or any bytes."""
        choices = random.Random(seed)
        kind = choices.randrange(12)
        if kind == 0:
            return choices.randbytes(choices.randrange(80))
        if kind == 1:
            text = "".join(chr(choices.randrange(0x300)) for _ in range(choices.randrange(60)))
        elif kind == 2:
            tokens = [*self.words, *self.signs]
            text = " ".join(choices.choice(tokens) for _ in range(choices.randrange(30)))
        else:
            text = self.mutated(choices)
        data = text.encode("utf-8", "surrogatepass")
        if kind == 3 and data:
            return with_changed_byte(data, choices)
        return data

    def mutated(self, choices: random.Random) -> str:
        tokens = self.token.findall(choices.choice(self.texts))
        for _ in range(choices.choice((1, 1, 2, 3, 8))):
            self.mutate(tokens, choices)
        return "".join(tokens)

    def mutate(self, tokens: list[str], choices: random.Random) -> None:
        """Mostly another word for a word, so that what is wrong is not only the syntax."""
        words = [position for position, token in enumerate(tokens) if re.search(r"\w", token)]
        place = choices.randrange(len(tokens)) if tokens else 0
        match choices.randrange(8):
            case 0:
                del tokens[place : place + 1 + choices.randrange(3)]
                tokens.append(" ")
            case 1:
                tokens.insert(place, f" {choices.choice([*self.words, *self.signs])} ")
            case 2 if tokens:
                other = choices.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place:place] = tokens[place : place + choices.randrange(12)]
            case 4 if words:
                tokens[choices.choice(words)] = choices.choice(self.words)
            case _ if words:
                tokens[choices.choice(words)] = tokens[choices.choice(words)]
            case _:
                tokens.append(choices.choice(self.signs))


def with_changed_byte(data: bytes, choices: random.Random) -> bytes:
    place = choices.randrange(len(data))
    return data[:place] + choices.randbytes(1) + data[place + 1 :]
