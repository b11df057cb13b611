"""Sorting networks on a few vectors of keys.

The keys are ordered by lane, then by vector: a network on the vectors sorts the keys of each lane,
and bitonic merges combine the lanes. Most comparators thus need no shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from riselang.lowering.sorting.key_code import KeyCode

Vectors = list[SSAValue]


def sort_vectors(code: KeyCode, vectors: Vectors) -> Vectors:
    """Return the keys of vectors in ascending order; the number of vectors is a power of two."""
    vectors = list(vectors)
    for one, other in odd_even_merge_sort(len(vectors)):
        _order_pair(code, vectors, one, other)
    width = 2
    while width <= code.lanes:
        vectors = _merge_lanes(code, vectors, width)
        width *= 2
    return _transpose(code, vectors)


def odd_even_merge_sort(count: int) -> Iterator[tuple[int, int]]:
    """Yield the comparators of Batcher's network for a power of two."""
    size = 1
    while size < count:
        distance = size
        while distance >= 1:
            for start in range(distance % size, count - distance, 2 * distance):
                for low in range(start, min(start + distance, count - distance)):
                    if low // (2 * size) == (low + distance) // (2 * size):
                        yield low, low + distance
            distance //= 2
        size *= 2


def _order_pair(code: KeyCode, vectors: Vectors, one: int, other: int) -> None:
    pair = vectors[one], vectors[other]
    vectors[one], vectors[other] = code.least(*pair), code.greatest(*pair)


def _merge_lanes(code: KeyCode, vectors: Vectors, width: int) -> Vectors:
    """Merge the sorted keys of the two halves of each group of `width` lanes."""
    vectors = [
        _order_lanes(code, each, partner, width - 1, width // 2)
        for each, partner in zip(vectors, reversed(vectors), strict=True)
    ]
    distance = width // 4
    while distance >= 1:
        vectors = [_order_lanes(code, each, each, distance, distance) for each in vectors]
        distance //= 2
    distance = len(vectors) // 2
    while distance >= 1:
        for low in range(len(vectors)):
            if not low & distance:
                _order_pair(code, vectors, low, low + distance)
        distance //= 2
    return vectors


def _order_lanes(
    code: KeyCode, keys: SSAValue, partners: SSAValue, flipped: int, upper: int
) -> SSAValue:
    """Compare each lane with a lane of `partners`; lanes with the bit `upper` become the greater.

    The partner of a lane differs from it in the bits `flipped`.
    """
    lanes = range(code.lanes)
    partners = code.shuffle(partners, partners, [lane ^ flipped for lane in lanes])
    low, high = code.least(keys, partners), code.greatest(keys, partners)
    return code.shuffle(low, high, [lane + code.lanes * bool(lane & upper) for lane in lanes])


def _transpose(code: KeyCode, vectors: Vectors) -> Vectors:
    """Return vectors whose keys are in the order of memory: by vector, then by lane."""
    if len(vectors) == 1:
        return vectors
    even, odd = (_transpose(code, vectors[start::2]) for start in (0, 1))
    order = [lane // 2 + code.lanes * (lane % 2) for lane in range(2 * code.lanes)]
    result: Vectors = []
    for one, other in zip(even, odd, strict=True):
        result.append(code.shuffle(one, other, order[: code.lanes]))
        result.append(code.shuffle(one, other, order[code.lanes :]))
    return result
