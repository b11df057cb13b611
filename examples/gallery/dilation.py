"""Morphological dilation and erosion of a gray image: the outlines of its shapes."""

from typing import Any

import numpy as np

import riselang as rl

SIZE = 5


def outline(xp: Any, maximum: Any, minimum: Any) -> Any:
    """The program, for riselang's functions or NumPy's."""

    def program(image: Any) -> Any:
        rows, columns = image.shape[0] - SIZE + 1, image.shape[1] - SIZE + 1

        def along_both_axes(choose: Any) -> Any:
            tall = image[:rows]
            for k in range(1, SIZE):
                tall = choose(tall, image[k : k + rows])
            wide = tall[:, :columns]
            for k in range(1, SIZE):
                wide = choose(wide, tall[:, k : k + columns])
            return wide

        return along_both_axes(maximum) - along_both_axes(minimum)

    return program


dilation = rl.jit(outline(rl, rl.max, rl.min))
expected = outline(np, np.maximum, np.minimum)


def example_inputs(size: int = 260) -> tuple[Any, ...]:
    y, x = np.mgrid[0:size, 0:size] / size
    rings = np.sin(40 * ((x - 0.5) ** 2 + (y - 0.4) ** 2)) > 0.3
    return (np.where(rings, 200, 40 + 60 * (x > 0.7)).astype(np.uint8),)


def picture(image: Any) -> Any:
    return 255 - image[::2, ::2]
