"""The programs of the gallery as loops, which numba compiles; part two."""

from __future__ import annotations

import math

import numpy as np


def kalman_filter(measurements):
    steps, objects = measurements.shape
    positions, speeds = np.zeros(objects, np.float32), np.zeros(objects, np.float32)
    step, noise, drift = np.float32(0.1), np.float32(0.5), np.float32(0.01)
    pp, ps = np.ones(objects, np.float32), np.zeros(objects, np.float32)
    ss = np.ones(objects, np.float32)
    for t in range(steps):
        for i in range(objects):
            position = positions[i] + step * speeds[i]
            p = pp[i] + step * (2 * ps[i] + step * ss[i]) + drift
            q, s = ps[i] + step * ss[i], ss[i] + drift
            gain_p, gain_s = p / (p + noise), q / (p + noise)
            error = measurements[t, i] - position
            positions[i] = position + gain_p * error
            speeds[i] += gain_s * error
            pp[i], ps[i], ss[i] = (1 - gain_p) * p, (1 - gain_p) * q, s - gain_s * q
    return positions, speeds


def kmeans(points, centers):
    centers = centers.copy()
    for _ in range(10):
        sums, counts = np.zeros_like(centers), np.zeros(len(centers), np.float32)
        for i in range(len(points)):
            nearest, best = 0, np.float32(np.inf)
            for k in range(len(centers)):
                dx, dy = points[i, 0] - centers[k, 0], points[i, 1] - centers[k, 1]
                distance = dx * dx + dy * dy
                if distance < best:
                    nearest, best = k, distance
            sums[nearest, 0] += points[i, 0]
            sums[nearest, 1] += points[i, 1]
            counts[nearest] += 1
        for k in range(len(centers)):
            centers[k] = sums[k] / max(counts[k], np.float32(1))
    return centers


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, np.int32)
    for i in range(len(weights)):
        weight, value = weights[i], values[i]
        for limit in range(capacity, weight - 1, -1):
            best[limit] = max(best[limit], best[limit - weight] + value)
    return best


def knn(samples, labels, points):
    products = points @ samples.T
    squares = (samples * samples).sum(axis=1)
    out = np.empty(len(points), np.int64)
    best, nearest = np.empty(5, np.float32), np.empty(5, np.int64)
    for i in range(len(points)):
        best[:] = np.inf
        for j in range(len(samples)):
            distance = squares[j] - 2 * products[i, j]
            if distance < best[4]:
                k = 4
                while k and distance < best[k - 1]:
                    best[k], nearest[k] = best[k - 1], nearest[k - 1]
                    k -= 1
                best[k], nearest[k] = distance, j
        votes = np.zeros(3, np.int32)
        for k in range(5):
            votes[labels[nearest[k]]] += 1
        out[i] = votes.argmax()
    return out


def lattice_boltzmann(densities, wall):
    xs = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    ys = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    opposites = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4).astype(np.float32)
    _, height, width = densities.shape
    densities, new = densities.copy(), np.empty_like(densities)
    moved = np.empty(9, np.float32)
    for _ in range(50):
        for i in range(height):
            for j in range(width):
                density = ux = uy = np.float32(0)
                for k in range(9):
                    y, x = i - ys[k], j - xs[k]
                    y, x = y - height if y >= height else y, x - width if x >= width else x
                    moved[k] = densities[k, y, x]
                    density += moved[k]
                    ux += xs[k] * moved[k]
                    uy += ys[k] * moved[k]
                ux, uy = ux / density, uy / density
                speed = np.float32(1.5) * (ux * ux + uy * uy)
                for k in range(9):
                    if wall[i, j]:
                        new[k, i, j] = moved[opposites[k]]
                    else:
                        along = np.float32(3) * (xs[k] * ux + ys[k] * uy)
                        rest = 1 + along + np.float32(0.5) * along * along - speed
                        equilibrium = weights[k] * density * rest
                        new[k, i, j] = moved[k] + np.float32(1.6) * (equilibrium - moved[k])
        densities, new = new, densities
    return densities


def levenshtein(a, b):
    row = np.arange(len(b) + 1).astype(np.int32)
    for i in range(len(a)):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            replaced = diagonal + (a[i] != b[j])
            diagonal = row[j + 1]
            row[j + 1] = min(min(replaced, diagonal + 1), row[j] + 1)
    return row[-1]


def lstm_cell(inputs, weights, recurrent, bias):
    batch, units = inputs.shape[1], len(recurrent)
    hidden, cell = np.zeros((batch, units), np.float32), np.zeros((batch, units), np.float32)
    one = np.float32(1)
    for t in range(len(inputs)):
        gates = inputs[t] @ weights + hidden @ recurrent
        for i in range(batch):
            for k in range(units):
                keep = one / (one + math.exp(-(gates[i, k] + bias[k])))
                add = one / (one + math.exp(-(gates[i, units + k] + bias[units + k])))
                show = one / (one + math.exp(-(gates[i, 2 * units + k] + bias[2 * units + k])))
                new = math.tanh(gates[i, 3 * units + k] + bias[3 * units + k])
                cell[i, k] = keep * cell[i, k] + add * new
                hidden[i, k] = show * math.tanh(cell[i, k])
    return hidden


def lu_decomposition(A):
    out = A.copy()
    for k in range(len(out)):
        for i in range(k + 1, len(out)):
            out[i, k] /= out[k, k]
            for j in range(k + 1, len(out)):
                out[i, j] -= out[i, k] * out[k, j]
    return out


def mandelbrot(c):
    out = np.empty(c.shape, np.int32)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            x, y = c[i, j].real, c[i, j].imag
            re, im, steps = x, y, 0
            while steps < 50 and re * re + im * im <= 4:
                re, im = re * re - im * im + x, 2 * re * im + y
                steps += 1
            out[i, j] = steps
    return out


def monte_carlo_pi(seeds):
    hits = np.empty(len(seeds), np.int32)
    for i in range(len(seeds)):
        state, count = seeds[i], 0
        for _ in range(100):
            state = state ^ np.uint32(state << np.uint32(13))
            state = state ^ np.uint32(state >> np.uint32(17))
            state = state ^ np.uint32(state << np.uint32(5))
            x = np.float32(state >> np.uint32(9)) * np.float32(2.0**-23)
            state = state ^ np.uint32(state << np.uint32(13))
            state = state ^ np.uint32(state >> np.uint32(17))
            state = state ^ np.uint32(state << np.uint32(5))
            y = np.float32(state >> np.uint32(9)) * np.float32(2.0**-23)
            count += x * x + y * y < np.float32(1)
        hits[i] = count
    return hits


def nbody(positions, velocities, masses):
    positions, velocities = positions.copy(), velocities.copy()
    step, softening = np.float32(0.01), np.float32(0.01)
    for _ in range(10):
        for i in range(len(positions)):
            ax = ay = az = np.float32(0)
            for j in range(len(positions)):
                dx = positions[j, 0] - positions[i, 0]
                dy = positions[j, 1] - positions[i, 1]
                dz = positions[j, 2] - positions[i, 2]
                squares = dx * dx + dy * dy + dz * dz + softening
                weight = masses[j] / (squares * math.sqrt(squares))
                ax += dx * weight
                ay += dy * weight
                az += dz * weight
            velocities[i, 0] += step * ax
            velocities[i, 1] += step * ay
            velocities[i, 2] += step * az
        for i in range(len(positions)):
            for d in range(3):
                positions[i, d] += step * velocities[i, d]
    return positions, velocities


def pagerank(sources, targets, degrees):
    nodes = len(degrees)
    rank = np.full(nodes, 1 / nodes)
    for _ in range(20):
        shares, received, leaked = np.empty(nodes), np.zeros(nodes), 0.0
        for i in range(nodes):
            shares[i] = rank[i] / max(degrees[i], 1.0)
            if degrees[i] == 0:
                leaked += rank[i]
        for k in range(len(sources)):
            received[targets[k]] += shares[sources[k]]
        for i in range(nodes):
            rank[i] = 0.15 / nodes + 0.85 * (received[i] + leaked / nodes)
    return rank


def perlin_noise(gradients_x, gradients_y, coordinates):
    size = len(coordinates)
    out = np.empty((size, size), np.float32)
    for i in range(size):
        row = int(coordinates[i])
        v = coordinates[i] - np.float32(row)
        fade_v = v * v * v * (v * (v * 6 - 15) + 10)
        for j in range(size):
            column = int(coordinates[j])
            u = coordinates[j] - np.float32(column)
            fade_u = u * u * u * (u * (u * 6 - 15) + 10)
            a = gradients_x[row, column] * u + gradients_y[row, column] * v
            b = gradients_x[row, column + 1] * (u - 1) + gradients_y[row, column + 1] * v
            c = gradients_x[row + 1, column] * u + gradients_y[row + 1, column] * (v - 1)
            d = gradients_x[row + 1, column + 1] * (u - 1) + gradients_y[row + 1, column + 1] * (
                v - 1)  # fmt: skip
            top, bottom = a + fade_u * (b - a), c + fade_u * (d - c)
            out[i, j] = top + fade_v * (bottom - top)
    return out


def ray_marching(xs, ys):
    out = np.empty((len(ys), len(xs)), np.float32)
    for i in range(len(ys)):
        for j in range(len(xs)):
            x, y = xs[j], ys[i]
            length = math.sqrt(x * x + y * y + np.float32(2.25))
            dx, dy, dz = x / length, y / length, np.float32(1.5) / length
            t = to_sphere = to_ground = np.float32(0)
            for _ in range(49):
                px, py, pz = t * dx, t * dy, t * dz - np.float32(3)
                to_sphere = math.sqrt(px * px + py * py + pz * pz) - np.float32(1)
                to_ground = py + np.float32(1)
                if _ < 48:
                    t += min(to_sphere, to_ground)
            if to_sphere < to_ground:
                half, most = np.float32(0.5), np.float32(0.7)
                light = half * t * dx + most * t * dy - half * (t * dz - np.float32(3))
            else:
                light = np.float32(0.7) / (1 + np.float32(0.01) * t * t)
            out[i, j] = min(max(light, np.float32(0.05)), np.float32(1))
    return out


def smith_waterman(a, b):
    row, best = np.zeros(len(b), np.int32), 0
    for i in range(len(a)):
        diagonal = left = 0
        for j in range(len(b)):
            score = max(diagonal + (3 if a[i] == b[j] else -3), row[j] - 2, left - 2, 0)
            diagonal, row[j], left = row[j], score, score
            best = max(best, score)
    return np.int32(best)


def softmax_regression(weights, bias, x, labels):
    scores = x @ weights + bias
    loss, count = np.float32(0), np.float32(len(x))
    for i in range(len(x)):
        largest, total = scores[i].max(), np.float32(0)
        for k in range(len(bias)):
            scores[i, k] = math.exp(scores[i, k] - largest)
            total += scores[i, k]
        for k in range(len(bias)):
            scores[i, k] /= total
        loss -= math.log(scores[i, labels[i]])
        for k in range(len(bias)):
            scores[i, k] = (scores[i, k] - np.float32(k == labels[i])) / count
    rate = np.float32(0.1)
    return loss / count, weights - rate * (x.T @ scores), bias - rate * scores.sum(axis=0)


def stream_compaction(signal):
    positions, values = np.empty(len(signal), np.int64), np.empty(len(signal), np.float32)
    count = 0
    for i in range(1, len(signal) - 1):
        if signal[i] > signal[i - 1] and signal[i] > signal[i + 1] and signal[i] > 1:
            positions[count], values[count] = i, signal[i]
            count += 1
    return positions[:count], values[:count]


def viterbi(start, transitions, emissions):
    steps, states = emissions.shape
    sources = np.empty((steps, states), np.int64)
    score, new = start + emissions[0], np.empty_like(start)
    for t in range(1, steps):
        for j in range(states):
            best, source = score[0] + transitions[0, j], 0
            for i in range(1, states):
                candidate = score[i] + transitions[i, j]
                if candidate > best:
                    best, source = candidate, i
            new[j], sources[t, j] = best + emissions[t, j], source
        score, new = new, score
    path = np.empty(steps, np.int64)
    path[-1] = score.argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = sources[t, path[t]]
    return path


def wave_equation(height):
    before, now, later = height.copy(), height.copy(), height.copy()
    speed = np.float32(0.25)
    for _ in range(100):
        for i in range(1, height.shape[0] - 1):
            for j in range(1, height.shape[1] - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                change = speed * (around - 4 * now[i, j])
                later[i, j] = 2 * now[i, j] - before[i, j] + change
        before, now, later = now, later, before
    return now
