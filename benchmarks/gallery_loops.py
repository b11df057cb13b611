"""The programs of the gallery as loops, which numba compiles; part one."""

from __future__ import annotations

import math

import numpy as np


def attention(Q, K, V):
    scores = Q @ K.T / np.float32(Q.shape[1] ** 0.5)
    for i in range(len(scores)):
        row = scores[i]
        largest = row.max()
        total = np.float32(0)
        for j in range(len(row)):
            row[j] = math.exp(row[j] - largest)
            total += row[j]
        for j in range(len(row)):
            row[j] /= total
    return scores @ V


def bilateral(image):
    rows, columns = image.shape[0] - 4, image.shape[1] - 4
    out = np.empty((rows, columns), np.float32)
    for i in range(rows):
        for j in range(columns):
            total = weights = np.float32(0)
            for y in range(5):
                for x in range(5):
                    difference = image[i + y, j + x] - image[i + 2, j + 2]
                    distance = ((y - 2) ** 2 + (x - 2) ** 2) * np.float32(0.125)
                    weight = math.exp(np.float32(-50) * difference * difference - distance)
                    total += weight * image[i + y, j + x]
                    weights += weight
            out[i, j] = total / weights
    return out


def bilinear_resize(image):
    height, width = image.shape
    tall = np.empty((2 * height, width), np.float32)
    for i in range(2 * height):
        at = (i + 0.5) / 2 - 0.5
        low = min(max(math.floor(at), 0), height - 2)
        y = np.float32(min(max(at - low, 0.0), 1.0))
        for j in range(width):
            tall[i, j] = image[low, j] * (1 - y) + image[low + 1, j] * y
    out = np.empty((2 * height, 2 * width), np.float32)
    for i in range(2 * height):
        for j in range(2 * width):
            at = (j + 0.5) / 2 - 0.5
            low = min(max(math.floor(at), 0), width - 2)
            x = np.float32(min(max(at - low, 0.0), 1.0))
            out[i, j] = tall[i, low] * (1 - x) + tall[i, low + 1] * x
    return out


def bitonic_sort(x):
    x = x.copy()
    length, run = len(x), 2
    while run <= length:
        distance = run // 2
        while distance:
            for i in range(length):
                if not i & distance:
                    low = min(x[i], x[i + distance])
                    high = max(x[i], x[i + distance])
                    if i & run:
                        x[i], x[i + distance] = high, low
                    else:
                        x[i], x[i + distance] = low, high
            distance //= 2
        run *= 2
    return x


def black_scholes(spot, strike, years):
    call, put = np.empty_like(spot), np.empty_like(spot)
    root = np.float32(0.5**0.5)
    for i in range(len(spot)):
        deviation = np.float32(0.3) * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + np.float32(0.065) * years[i]) / deviation
        d2 = d1 - deviation
        discounted = strike[i] * math.exp(np.float32(-0.02) * years[i])
        first = np.float32(0.5) * (1 + math.erf(d1 * root))
        second = np.float32(0.5) * (1 + math.erf(d2 * root))
        call[i] = spot[i] * first - discounted * second
        put[i] = call[i] - spot[i] + discounted
    return call, put


def conjugate_gradient(A, b):
    x, residual, direction = np.zeros_like(b), b.copy(), b.copy()
    for _ in range(50):
        image = A @ direction
        squares = residual @ residual
        length = squares / (direction @ image)
        for i in range(len(b)):
            x[i] += length * direction[i]
            residual[i] -= length * image[i]
        ratio = (residual @ residual) / squares
        for i in range(len(b)):
            direction[i] = residual[i] + ratio * direction[i]
    return x


def connected_components(image):
    height, width = image.shape
    labels = np.zeros((height, width), np.int32)
    for i in range(height):
        for j in range(width):
            if image[i, j]:
                labels[i, j] = i * width + j + 1
    new = np.zeros_like(labels)
    changed = True
    while changed:
        changed = False
        for i in range(height):
            for j in range(width):
                if image[i, j]:
                    best = labels[i, j]
                    for y in range(max(i - 1, 0), min(i + 2, height)):
                        for x in range(max(j - 1, 0), min(j + 2, width)):
                            best = max(best, labels[y, x])
                    new[i, j] = best
                    changed = changed or best != labels[i, j]
        labels, new = new, labels
    return labels


def convolution_layer(image, filters, bias):
    channels, height, width = image.shape
    out = np.empty((len(filters), height - 2, width - 2), np.float32)
    for f in range(len(filters)):
        out[f] = bias[f]
        for c in range(channels):
            for y in range(3):
                for x in range(3):
                    weight = filters[f, c, y, x]
                    for i in range(height - 2):
                        for j in range(width - 2):
                            out[f, i, j] += weight * image[c, i + y, j + x]
        for i in range(height - 2):
            for j in range(width - 2):
                out[f, i, j] = max(out[f, i, j], np.float32(0))
    return out


def crc32(messages):
    table = np.empty(256, np.uint32)
    for i in range(256):
        word = np.uint32(i)
        for _ in range(8):
            word = (word >> np.uint32(1)) ^ (np.uint32(0xEDB88320) * (word & np.uint32(1)))
        table[i] = word
    out = np.empty(len(messages), np.uint32)
    for i in range(len(messages)):
        crc = np.uint32(0xFFFFFFFF)
        for j in range(messages.shape[1]):
            crc = table[(crc ^ messages[i, j]) & np.uint32(255)] ^ (crc >> np.uint32(8))
        out[i] = ~crc
    return out


def csr_matvec(values, columns, starts, x):
    out = np.empty(len(starts) - 1)
    for i in range(len(out)):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        out[i] = total
    return out


def dilation(image):
    rows, columns = image.shape[0] - 4, image.shape[1] - 4
    high = np.empty((rows, image.shape[1]), np.uint8)
    low = np.empty((rows, image.shape[1]), np.uint8)
    out = np.empty((rows, columns), np.uint8)
    for i in range(rows):
        for j in range(image.shape[1]):
            largest = smallest = image[i, j]
            for k in range(1, 5):
                largest, smallest = max(largest, image[i + k, j]), min(smallest, image[i + k, j])
            high[i, j], low[i, j] = largest, smallest
        for j in range(columns):
            largest, smallest = high[i, j], low[i, j]
            for k in range(1, 5):
                largest, smallest = max(largest, high[i, j + k]), min(smallest, low[i, j + k])
            out[i, j] = largest - smallest
    return out


def fft(x):
    length = len(x)
    source, target = x.copy(), np.empty_like(x)
    half, width = length // 2, 1
    while half:
        for k in range(half):
            angle = -math.pi * k / half
            twiddle = np.complex64(complex(math.cos(angle), math.sin(angle)))
            for j in range(width):
                even, odd = source[k * width + j], source[(k + half) * width + j]
                target[2 * k * width + j] = even + odd
                target[(2 * k + 1) * width + j] = (even - odd) * twiddle
        source, target = target, source
        half, width = half // 2, 2 * width
    return source


def floyd_warshall(distances):
    distances = distances.copy()
    for k in range(len(distances)):
        for i in range(len(distances)):
            through = distances[i, k]
            for j in range(len(distances)):
                distances[i, j] = min(distances[i, j], through + distances[k, j])
    return distances


def game_of_life(board):
    height, width = board.shape
    board, new = board.copy(), np.empty_like(board)
    for _ in range(50):
        for i in range(height):
            up, down = board[i - 1], board[i + 1 if i + 1 < height else 0]
            for j in range(width):
                left, right = j - 1 if j else width - 1, j + 1 if j + 1 < width else 0
                around = (
                    up[left] + up[j] + up[right] + board[i, left] + board[i, j] + board[i, right]
                    + down[left] + down[j] + down[right]
                )  # fmt: skip
                new[i, j] = around == 3 or (around == 4 and board[i, j] == 1)
        board, new = new, board
    return board


def gaussian_mixture(points, weights, means, deviations):
    out = np.empty((len(points), len(means)), np.float32)
    for i in range(len(points)):
        total = np.float32(0)
        for k in range(len(means)):
            squares, spread = np.float32(0), np.float32(1)
            for d in range(points.shape[1]):
                scaled = (points[i, d] - means[k, d]) / deviations[k, d]
                squares += scaled * scaled
                spread *= deviations[k, d]
            out[i, k] = math.exp(np.float32(-0.5) * squares) * weights[k] / spread
            total += out[i, k]
        for k in range(len(means)):
            out[i, k] /= total
    return out


def harris(image):
    height, width = image.shape[0] - 2, image.shape[1] - 2
    xx = np.empty((height, width), np.float32)
    xy, yy = np.empty_like(xx), np.empty_like(xx)
    for i in range(height):
        for j in range(width):
            dx = (image[i, j + 2] - image[i, j]) + 2 * (image[i + 1, j + 2] - image[i + 1, j]) + (
                image[i + 2, j + 2] - image[i + 2, j])  # fmt: skip
            dy = (image[i + 2, j] - image[i, j]) + 2 * (image[i + 2, j + 1] - image[i, j + 1]) + (
                image[i + 2, j + 2] - image[i, j + 2])  # fmt: skip
            xx[i, j], xy[i, j], yy[i, j] = dx * dx, dx * dy, dy * dy
    out = np.empty((height - 2, width - 2), np.float32)
    for i in range(height - 2):
        for j in range(width - 2):
            a = b = c = np.float32(0)
            for y in range(3):
                for x in range(3):
                    a += xx[i + y, j + x]
                    b += xy[i + y, j + x]
                    c += yy[i + y, j + x]
            out[i, j] = a * c - b * b - np.float32(0.05) * (a + c) * (a + c)
    return out


def heat_equation(plate):
    plate, new = plate.copy(), plate.copy()
    rate = np.float32(0.2)
    for _ in range(100):
        for i in range(1, plate.shape[0] - 1):
            for j in range(1, plate.shape[1] - 1):
                around = plate[i - 1, j] + plate[i + 1, j] + plate[i, j - 1] + plate[i, j + 1]
                new[i, j] = plate[i, j] + rate * (around - 4 * plate[i, j])
        plate, new = new, plate
    return plate


def histogram_equalization(image):
    counts = np.zeros(256, np.int32)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    ranks = np.cumsum(counts)
    first = image.size
    for k in range(256):
        if counts[k] > 0:
            first = ranks[k]
            break
    levels = ((ranks - first) * 255 // max(image.size - first, 1)).astype(np.uint8)
    out = np.empty_like(image)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = levels[image[i, j]]
    return out


def ising(spins, seeds):
    size = len(spins)
    spins, seeds = spins.copy(), seeds.copy()
    coupling = np.float32(-0.6)
    for _ in range(20):
        for color in range(2):
            for i in range(size):
                up, down = i - 1, i + 1 if i + 1 < size else 0
                for j in range(size):
                    seed = seeds[i, j]
                    seed = seed ^ np.uint32(seed << np.uint32(13))
                    seed = seed ^ np.uint32(seed >> np.uint32(17))
                    seed = seed ^ np.uint32(seed << np.uint32(5))
                    seeds[i, j] = seed
                    if (i + j) % 2 == color:
                        right = j + 1 if j + 1 < size else 0
                        around = spins[up, j] + spins[down, j] + spins[i, j - 1] + spins[i, right]
                        chance = math.exp(coupling * np.float32(2 * spins[i, j] * around))
                        if np.float32(seed >> np.uint32(8)) / np.float32(2**24) < chance:
                            spins[i, j] = -spins[i, j]
    return spins


def jacobi(A, b):
    x, diagonal = np.zeros_like(b), np.diag(A).copy()
    for _ in range(50):
        product = A @ x
        for i in range(len(b)):
            x[i] += (b[i] - product[i]) / diagonal[i]
    return x


def power_spectrum(signal, cosines, sines):
    return (cosines @ signal) ** 2 + (sines @ signal) ** 2
