"""CRC-32 of many messages: a table of 256 words, and one step for each byte."""

import numpy as np

import riselang as rl


def make_table():
    words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        words = np.where(words & 1, (words >> 1) ^ np.uint32(0xEDB88320), words >> 1)
    return words.astype(np.uint32)


TABLE = make_table()


@rl.jit
def crc32(messages: rl.Array["N", "L", rl.u8]):
    table = rl.numpy.asarray(TABLE)

    def step(crc, byte):
        index = (crc ^ rl.cast(byte, rl.u32)) & 255
        return table[index] ^ (crc >> 8)

    return messages | rl.map(lambda message: ~(message | rl.reduce(step, 0xFFFFFFFF)))


def expected(messages):
    crc = np.full(len(messages), 0xFFFFFFFF, np.uint32)
    for column in messages.T:
        crc = TABLE[(crc ^ column) & np.uint32(255)] ^ (crc >> np.uint32(8))
    return ~crc


def example_inputs(size=2000):
    return (np.random.default_rng(24).integers(0, 256, (size, 64)).astype(np.uint8),)


def summary(checksums):
    return f"the first checksums are {[f'{each:08x}' for each in checksums[:3]]}"
