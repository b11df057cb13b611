"""RISE matmul against the same affine loops by hand, in one module (figure 10 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from timing import medians, pin_threads

pin_threads()

import numpy as np  # noqa: E402

import riselang as rl  # noqa: E402


@dataclass(frozen=True)
class Size:
    rows: int
    inner: int
    columns: int
    calls: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.inner}x{self.columns}"


SIZES = (Size(384, 384, 384, 1), Size(1, 784, 128, 50))


def by_hand(size: Size) -> str:
    n, k, m = size.rows, size.inner, size.columns
    return f"""
func.func @hand(%C : memref<{n}x{m}xf32>, %A : memref<{n}x{k}xf32>, %B : memref<{k}x{m}xf32>) {{
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to {n} {{
    affine.for %j = 0 to {m} {{
      %sum = affine.for %k = 0 to {k} iter_args(%acc = %zero) -> (f32) {{
        %a = affine.load %A[%i, %k] : memref<{n}x{k}xf32>
        %b = affine.load %B[%k, %j] : memref<{k}x{m}xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %p, %acc : f32
        affine.yield %s : f32
      }}
      affine.store %sum, %C[%i, %j] : memref<{n}x{m}xf32>
    }}
  }}
  func.return
}}
"""


@rl.jit(float="strict")
def matmul(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> object:
    def dot(row: object, column: object) -> object:
        return rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    return A | rl.map(lambda row: B | rl.transpose | rl.map(lambda column: dot(row, column)))


def main() -> None:
    generator = np.random.default_rng(0)
    for size in SIZES:
        n, k, m = size.rows, size.inner, size.columns
        a = generator.random((n, k), np.float32)
        b = generator.random((k, m), np.float32)
        c_rise, c_hand = np.empty((n, m), np.float32), np.empty((n, m), np.float32)
        rise = matmul.lower(a, b).as_text("rise")
        # The functions of the module, without the module around them.
        functions = rise.split("\n", 1)[1].rsplit("}", 1)[0]
        module = rl.loads(functions + by_hand(size), loops="affine", float="strict")
        module.matmul(c_rise, a, b)
        module.hand(c_hand, a, b)
        assert np.array_equal(c_rise, c_hand), "the two differ"
        rise_time, hand_time = medians(
            [lambda: module.matmul(c_rise, a, b), lambda: module.hand(c_hand, a, b)],  # noqa: B023
            calls=size.calls,
        )
        print(f"matmul {size}: RISE {rise_time * 1e3:.3f} ms, by hand {hand_time * 1e3:.3f} ms, "
              f"ratio {rise_time / hand_time:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
