"""CRC-32 of many messages: a table of 256 words, and one step for each byte."""

from typing import Annotated, Any

import numpy as np

import riselang as rl


def make_table() -> Any:
    words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        words = np.where(words & 1, (words >> 1) ^ np.uint32(0xEDB88320), words >> 1)
    return words.astype(np.uint32)


TABLE = make_table()


@rl.jit
def crc32(messages: Annotated[rl.Array, "N", "L", rl.u8]) -> rl.Array:
    table = rl.numpy.asarray(TABLE)

    def step(crc: rl.Array, byte: rl.Array) -> rl.Array:
        index = (crc ^ rl.cast(byte, rl.u32)) & 255
        return table[index] ^ (crc >> 8)

    return messages | rl.map(lambda message: ~(message | rl.reduce(step, 0xFFFFFFFF)))


def expected(messages: Any) -> Any:
    crc = np.full(len(messages), 0xFFFFFFFF, np.uint32)
    for column in messages.T:
        crc = TABLE[(crc ^ column) & np.uint32(255)] ^ (crc >> np.uint32(8))
    return ~crc


def example_inputs(size: int = 2000) -> tuple[Any, ...]:
    return (np.random.default_rng(24).integers(0, 256, (size, 64)).astype(np.uint8),)


def summary(checksums: Any) -> str:
    return f"the first checksums are {[f'{each:08x}' for each in checksums[:3]]}"
