"""The temperature of a plate, on a grid of ranks that exchange the borders of their tiles.

mpiexec -n 4 python -m mpi4py examples/ranks/heat.py

Without mpiexec, one process emulates the ranks. The result is compared with the interpreter, bit
for bit.
"""

from typing import Any

import numpy as np

import riselang as rl

SIZE, STEPS, MESH = 21, 5, (2, 2)


@rl.jit
def heat(plate: rl.Array[SIZE, SIZE, rl.f32]):
    def mean(window: Any) -> Any:
        return (window | rl.join | rl.reduce(rl.add, 0.0)) * (1 / 9)

    def step(plate: Any) -> Any:
        padded = plate | rl.pad(1, 1) | rl.map(rl.pad(1, 1))
        windows = padded | rl.map(rl.slide(3, 1)) | rl.slide(3, 1) | rl.map(rl.transpose)
        return windows | rl.map(rl.map(mean))

    return plate | rl.shard(0) | rl.iterate(STEPS, step)


def main() -> None:
    plate = np.zeros((SIZE, SIZE), np.float32)
    plate[8:13, 8:13] = 100
    result = rl.distribute(heat, ranks=MESH, results="root")(plate)
    if result is not None:
        assert np.array_equal(result, heat.interpreted()(plate))
        print(f"{result[10, 10]:.2f} degrees in the middle; the ranks agree with the interpreter")


if __name__ == "__main__":
    main()
