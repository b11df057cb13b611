"""The programs of the gallery in JAX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from harness import load

jax: Any = import_module("jax")
jnp: Any = jax.numpy
lax: Any = jax.lax


def repeat(count, step, state):
    return lax.fori_loop(0, count, lambda _, state: step(state), state)


def attention(Q, K, V):
    return jax.nn.softmax(Q @ K.T / Q.shape[1] ** 0.5, axis=1) @ V


def bilateral(image):
    rows, columns = image.shape[0] - 4, image.shape[1] - 4
    total = weights = jnp.zeros((rows, columns))
    for y in range(5):
        for x in range(5):
            other = image[y : y + rows, x : x + columns]
            distance = ((y - 2) ** 2 + (x - 2) ** 2) / 8
            weight = jnp.exp(-50 * (other - image[2:-2, 2:-2]) ** 2 - distance)
            total, weights = total + weight * other, weights + weight
    return total / weights


def bilinear_resize(image):
    def positions(length):
        at = (np.arange(2 * length) + 0.5) / 2 - 0.5
        low = np.clip(np.floor(at), 0, length - 2).astype(np.int32)
        return low, np.clip(at - low, 0, 1).astype(np.float32)

    (rows, y), (columns, x) = positions(image.shape[0]), positions(image.shape[1])
    tall = image[rows] * (1 - y)[:, None] + image[rows + 1] * y[:, None]
    return tall[:, columns] * (1 - x) + tall[:, columns + 1] * x


def bitonic_sort(x):
    length, index = len(x), np.arange(len(x))
    exponents = range(1, length.bit_length())
    for run, distance in [(1 << r, 1 << s) for r in exponents for s in reversed(range(r))]:
        partner = x.reshape(-1, 2, distance)[:, ::-1].reshape(-1)
        takes_lower = ((index & run) == 0) == ((index & distance) == 0)
        x = jnp.where(takes_lower, jnp.minimum(x, partner), jnp.maximum(x, partner))
    return x


def black_scholes(spot, strike, years):
    deviation = 0.3 * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + 0.065 * years) / deviation
    discounted = strike * jnp.exp(-0.02 * years)
    cdf = jax.scipy.stats.norm.cdf
    call = spot * cdf(d1) - discounted * cdf(d1 - deviation)
    return call, call - spot + discounted


def conjugate_gradient(A, b):
    def step(state):
        x, residual, direction = state
        image = A @ direction
        squares = residual @ residual
        length = squares / (direction @ image)
        remaining = residual - length * image
        ratio = remaining @ remaining / squares
        return x + length * direction, remaining, remaining + ratio * direction

    return repeat(50, step, (jnp.zeros_like(b), b, b))[0]


def connected_components(image):
    def spread(state):
        labels, _ = state
        padded = jnp.pad(labels, 1)
        rows = jnp.maximum(jnp.maximum(padded[:-2], padded[1:-1]), padded[2:])
        around = jnp.maximum(jnp.maximum(rows[:, :-2], rows[:, 1:-1]), rows[:, 2:])
        new = jnp.where(image, around, 0)
        return new, (new != labels).any()

    numbers = jnp.arange(1, image.size + 1, dtype=jnp.int32).reshape(image.shape)
    return lax.while_loop(lambda s: s[1], spread, (jnp.where(image, numbers, 0), image.any()))[0]


def convolution_layer(image, filters, bias):
    sums = lax.conv(image[None], filters, (1, 1), "VALID")[0]
    return jnp.maximum(sums + bias[:, None, None], 0)


def crc32(messages):
    words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        words = np.where(words & 1, (words >> 1) ^ np.uint32(0xEDB88320), words >> 1)
    table = jnp.asarray(words.astype(np.uint32))

    def step(crc, column):
        return table[(crc ^ column) & 255] ^ (crc >> 8), None

    start = jnp.full(len(messages), 0xFFFFFFFF, jnp.uint32)
    return ~lax.scan(step, start, messages.T)[0]


def csr_matvec(values, columns, starts, x):
    count = len(starts) - 1
    rows = jnp.repeat(jnp.arange(count), jnp.diff(starts), total_repeat_length=len(values))
    return jax.ops.segment_sum(values * x[columns], rows, count, indices_are_sorted=True)


def dilation(image):
    largest = lax.reduce_window(image, np.uint8(0), lax.max, (5, 5), (1, 1), "VALID")
    return largest - lax.reduce_window(image, np.uint8(255), lax.min, (5, 5), (1, 1), "VALID")


def fft(x):
    return jnp.fft.fft(x)


def floyd_warshall(distances):
    def allow(k, d):
        return jnp.minimum(d, d[:, k, None] + d[k])

    return lax.fori_loop(0, len(distances), allow, distances)


def game_of_life(board):
    def generation(board):
        rows = jnp.roll(board, 1, 0) + board + jnp.roll(board, -1, 0)
        around = jnp.roll(rows, 1, 1) + rows + jnp.roll(rows, -1, 1)
        return ((around == 3) | ((around == 4) & (board == 1))).astype(jnp.uint8)

    return repeat(50, generation, board)


def gaussian_mixture(points, weights, means, deviations):
    scaled = (points[:, None] - means) / deviations
    densities = jnp.exp(-0.5 * (scaled * scaled).sum(axis=2))
    joint = densities * weights / deviations.prod(axis=1)
    return joint / joint.sum(axis=1, keepdims=True)


def harris(image):
    return load("harris").module.corner_strength(image)


def heat_equation(plate):
    def step(plate):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        return plate.at[1:-1, 1:-1].set(inner + 0.2 * (around - 4 * inner))

    return repeat(100, step, plate)


def histogram_equalization(image):
    counts = jnp.zeros(256, jnp.int32).at[image.reshape(-1)].add(1)
    ranks = jnp.cumsum(counts)
    first = jnp.where(counts > 0, ranks, image.size).min()
    levels = (ranks - first) * 255 // jnp.maximum(image.size - first, 1)
    return levels.astype(jnp.uint8)[image]


def _xorshift(state):
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


def ising(spins, seeds):
    is_black = np.indices(spins.shape).sum(axis=0) % 2 == 0

    def sweep(state):
        spins, seeds = state
        for color in (is_black, ~is_black):
            around = jnp.roll(spins, 1, 0) + jnp.roll(spins, -1, 0)
            around = around + jnp.roll(spins, 1, 1) + jnp.roll(spins, -1, 1)
            seeds = _xorshift(seeds)
            number = (seeds >> 8).astype(jnp.float32) / 2**24
            chance = jnp.exp(-0.6 * (2 * spins * around).astype(jnp.float32))
            spins = jnp.where(color & (number < chance), -spins, spins)
        return spins, seeds

    return repeat(20, sweep, (spins, seeds))[0]


def jacobi(A, b):
    return repeat(50, lambda x: x + (b - A @ x) / jnp.diagonal(A), jnp.zeros_like(b))


def kalman_filter(measurements):
    def update(state, measured):
        position, speed, pp, ps, ss = state
        position, pp = position + 0.1 * speed, pp + 0.1 * (2 * ps + 0.1 * ss) + 0.01
        ps, ss = ps + 0.1 * ss, ss + 0.01
        gain_p, gain_s = pp / (pp + 0.5), ps / (pp + 0.5)
        error = measured - position
        position, speed = position + gain_p * error, speed + gain_s * error
        return (position, speed, (1 - gain_p) * pp, (1 - gain_p) * ps, ss - gain_s * ps), None

    zeros = jnp.zeros_like(measurements[0])
    ones = jnp.ones_like(measurements[0])
    return lax.scan(update, (zeros, zeros, ones, zeros, ones), measurements)[0][:2]


def kmeans(points, centers):
    def step(centers):
        nearest = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        sums = jnp.zeros_like(centers).at[nearest].add(points)
        counts = jnp.zeros(len(centers), centers.dtype).at[nearest].add(1)
        return sums / jnp.maximum(counts, 1)[:, None]

    return repeat(10, step, centers)


def knapsack(weights, values, capacity):
    limits = jnp.arange(capacity + 1)

    def add_item(best, item):
        weight, value = item
        added = best[jnp.maximum(limits - weight, 0)] + value
        return jnp.where(limits >= weight, jnp.maximum(best, added), best), None

    return lax.scan(add_item, jnp.zeros(capacity + 1, jnp.int32), (weights, values))[0]


def knn(samples, labels, points):
    distances = (samples * samples).sum(axis=1) - 2 * points @ samples.T
    _, nearest = lax.top_k(-distances, 5)
    return (labels[nearest][:, :, None] == jnp.arange(3)).sum(axis=1).argmax(axis=1)


def lattice_boltzmann(densities, wall):
    return load("lattice_boltzmann").module.simulate(jnp, repeat)(densities, wall)


def levenshtein(a, b):
    positions = jnp.arange(len(b) + 1, dtype=jnp.int32)

    def next_row(row, letter):
        replaced = row[:-1] + (b != letter)
        without = jnp.concatenate([row[:1] + 1, jnp.minimum(replaced, row[1:] + 1)])
        return lax.cummin(without - positions) + positions, None

    return lax.scan(next_row, positions, a)[0][-1]


def lstm_cell(inputs, weights, recurrent, bias):
    units = len(recurrent)

    def step(state, x):
        hidden, cell = state
        gates = x @ weights + hidden @ recurrent + bias
        keep, add, show = (jax.nn.sigmoid(gates[:, k * units : (k + 1) * units]) for k in range(3))
        cell = keep * cell + add * jnp.tanh(gates[:, 3 * units :])
        return (show * jnp.tanh(cell), cell), None

    zeros = jnp.zeros((inputs.shape[1], units))
    return lax.scan(step, (zeros, zeros), inputs)[0][0]


def lu_decomposition(A):
    index = jnp.arange(len(A))

    def eliminate(k, A):
        is_below = index > k
        factors = jnp.where(is_below, A[:, k] / A[k, k], 0)
        reduced = A - factors[:, None] * jnp.where(is_below, A[k], 0)
        return reduced.at[:, k].set(jnp.where(is_below, factors, A[:, k]))

    return lax.fori_loop(0, len(A), eliminate, A)


def mandelbrot(c):
    def step(state):
        z, steps = state
        is_near = z.real**2 + z.imag**2 <= 4
        return jnp.where(is_near, z * z + c, z), steps + is_near

    return repeat(50, step, (c, jnp.zeros(c.shape, jnp.int32)))[1]


def monte_carlo_pi(seeds):
    def unit(state):
        return lax.bitcast_convert_type((state >> 9) | 0x3F800000, jnp.float32) - 1

    def step(state):
        seeds, hits = state
        first = _xorshift(seeds)
        second = _xorshift(first)
        return second, hits + (unit(first) ** 2 + unit(second) ** 2 < 1)

    return repeat(100, step, (seeds, jnp.zeros(len(seeds), jnp.int32)))[1]


def nbody(positions, velocities, masses):
    def step(state):
        positions, velocities = state
        offsets = positions[None] - positions[:, None]
        squares = (offsets**2).sum(axis=2) + 0.01
        weights = masses / (squares * jnp.sqrt(squares))
        velocities = velocities + 0.01 * (offsets * weights[:, :, None]).sum(axis=1)
        return positions + 0.01 * velocities, velocities

    return repeat(10, step, (positions, velocities))


def pagerank(sources, targets, degrees):
    nodes = len(degrees)

    def step(rank):
        shares = rank / jnp.maximum(degrees, 1)
        received = jnp.zeros(nodes, rank.dtype).at[targets].add(shares[sources])
        leaked = jnp.where(degrees == 0, rank, 0).sum()
        return 0.15 / nodes + 0.85 * (received + leaked / nodes)

    return repeat(20, step, jnp.full(nodes, 1 / nodes, degrees.dtype))


def perlin_noise(gradients_x, gradients_y, coordinates):
    y, x = coordinates[:, None], coordinates[None, :]
    row, column = y.astype(jnp.int32), x.astype(jnp.int32)
    u, v = x - jnp.floor(x), y - jnp.floor(y)

    def corner(dy, dx):
        gx, gy = gradients_x[row + dy, column + dx], gradients_y[row + dy, column + dx]
        return gx * (u - dx) + gy * (v - dy)

    def fade(t):
        return t * t * t * (t * (t * 6 - 15) + 10)

    top = corner(0, 0) + fade(u) * (corner(0, 1) - corner(0, 0))
    bottom = corner(1, 0) + fade(u) * (corner(1, 1) - corner(1, 0))
    return top + fade(v) * (bottom - top)


def power_spectrum(signal):
    length = len(signal)
    angles = np.outer(np.arange(length // 2), np.arange(length)) * (2 * np.pi / length)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return (cosines @ signal) ** 2 + (sines @ signal) ** 2


def ray_marching(xs, ys):
    x, y = jnp.broadcast_arrays(xs, ys[:, None])
    length = jnp.sqrt(x * x + y * y + 2.25)
    dx, dy, dz = x / length, y / length, 1.5 / length

    def distances(t):
        px, py, pz = t * dx, t * dy, t * dz - 3
        return jnp.sqrt(px * px + py * py + pz * pz) - 1, py + 1

    t = repeat(48, lambda t: t + jnp.minimum(*distances(t)), jnp.zeros_like(x))
    to_sphere, to_ground = distances(t)
    on_sphere = 0.5 * t * dx + 0.7 * t * dy - 0.5 * (t * dz - 3)
    light = jnp.where(to_sphere < to_ground, on_sphere, 0.7 / (1 + 0.01 * t * t))
    return jnp.clip(light, 0.05, 1)


def smith_waterman(a, b):
    offsets = jnp.arange(len(b), dtype=jnp.int32) * 2

    def next_row(state, letter):
        row, best = state
        similarity = jnp.where(b == letter, 3, -3)
        shifted = jnp.concatenate([jnp.zeros(1, jnp.int32), row[:-1]])
        without = jnp.maximum(jnp.maximum(shifted + similarity, row - 2), 0)
        row = lax.cummax(without + offsets) - offsets
        return (row, jnp.maximum(best, row.max())), None

    return lax.scan(next_row, (jnp.zeros(len(b), jnp.int32), 0), a)[0][1]


def softmax_regression(weights, bias, x, labels):
    def loss(weights, bias):
        logarithms = jax.nn.log_softmax(x @ weights + bias, axis=1)
        return -jnp.take_along_axis(logarithms, labels[:, None], axis=1).mean()

    value, (by_weights, by_bias) = jax.value_and_grad(loss, (0, 1))(weights, bias)
    return value, weights - 0.1 * by_weights, bias - 0.1 * by_bias


def viterbi(start, transitions, emissions):
    def advance(score, observed):
        candidates = score[:, None] + transitions
        return candidates.max(axis=0) + observed, candidates.argmax(axis=0)

    score, sources = lax.scan(advance, start + emissions[0], emissions[1:])
    last = score.argmax()
    _, path = lax.scan(lambda s, source: (source[s],) * 2, last, sources, reverse=True)
    return jnp.concatenate([path, last[None]])


def wave_equation(height):
    def step(state):
        before, now = state
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        inner = now[1:-1, 1:-1]
        later = 2 * inner - before[1:-1, 1:-1] + 0.25 * (around - 4 * inner)
        return now, now.at[1:-1, 1:-1].set(later)

    return repeat(100, step, (height, height))[1]
