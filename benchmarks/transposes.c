// Ways to transpose a square matrix of floats: B[j][i] = A[i][j].
#include <string.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
typedef float v4 __attribute__((vector_size(16), aligned(4)));
typedef float v8 __attribute__((vector_size(32), aligned(4)));
typedef float v16 __attribute__((vector_size(64), aligned(4)));

void by_rows_of_a(int n, const float *restrict a, float *restrict b) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) b[(long)j * n + i] = a[(long)i * n + j];
}

void by_rows_of_b(int n, const float *restrict a, float *restrict b) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) b[(long)j * n + i] = a[(long)i * n + j];
}

#define TILED(name, rows, columns)                                        \
  void name(int n, const float *restrict a, float *restrict b) {          \
    for (int j0 = 0; j0 < n; j0 += columns)                               \
      for (int i0 = 0; i0 < n; i0 += rows)                                \
        for (int j = j0; j < MIN(n, j0 + columns); j++)                   \
          for (int i = i0; i < MIN(n, i0 + rows); i++)                    \
            b[(long)j * n + i] = a[(long)i * n + j];                      \
  }
TILED(tiles_8x8, 8, 8)
TILED(tiles_16x16, 16, 16)
TILED(tiles_32x32, 32, 32)
TILED(tiles_64x64, 64, 64)
TILED(tiles_16x64, 16, 64)
TILED(tiles_64x16, 64, 16)

static void divide(int n, int i0, int i1, int j0, int j1, const float *restrict a,
                   float *restrict b) {
  if (i1 - i0 <= 16 && j1 - j0 <= 16) {
    for (int j = j0; j < j1; j++)
      for (int i = i0; i < i1; i++) b[(long)j * n + i] = a[(long)i * n + j];
  } else if (i1 - i0 >= j1 - j0) {
    int m = (i0 + i1) / 2;
    divide(n, i0, m, j0, j1, a, b), divide(n, m, i1, j0, j1, a, b);
  } else {
    int m = (j0 + j1) / 2;
    divide(n, i0, i1, j0, m, a, b), divide(n, i0, i1, m, j1, a, b);
  }
}
void cache_oblivious(int n, const float *restrict a, float *restrict b) {
  divide(n, 0, n, 0, n, a, b);
}

static inline void turn_4(long n, const float *restrict a, long m, float *restrict b) {
  v4 r[4], s[4];
  for (int i = 0; i < 4; i++) r[i] = *(const v4 *)(a + i * n);
  s[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
  s[1] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  s[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  s[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  *(v4 *)(b) = __builtin_shufflevector(s[0], s[2], 0, 1, 4, 5);
  *(v4 *)(b + m) = __builtin_shufflevector(s[0], s[2], 2, 3, 6, 7);
  *(v4 *)(b + 2 * m) = __builtin_shufflevector(s[1], s[3], 0, 1, 4, 5);
  *(v4 *)(b + 3 * m) = __builtin_shufflevector(s[1], s[3], 2, 3, 6, 7);
}

static inline void turn_8(long n, const float *restrict a, long m, float *restrict b) {
  v8 r[8], s[8];
  for (int i = 0; i < 8; i++) r[i] = *(const v8 *)(a + i * n);
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; k++) {
      r[i + k] = __builtin_shufflevector(s[i + k], s[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + k + 2] = __builtin_shufflevector(s[i + k], s[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int k = 0; k < 4; k++) {
    *(v8 *)(b + k * m) = __builtin_shufflevector(r[k], r[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *(v8 *)(b + (k + 4) * m) = __builtin_shufflevector(r[k], r[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#define IN_REGISTERS(name, turn, side, rows, columns)                     \
  void name(int n, const float *restrict a, float *restrict b) {          \
    for (int j0 = 0; j0 < n; j0 += columns)                               \
      for (int i0 = 0; i0 < n; i0 += rows)                                \
        for (int j = j0; j < j0 + columns; j += side)                     \
          for (int i = i0; i < i0 + rows; i += side)                      \
            turn(n, a + (long)i * n + j, n, b + (long)j * n + i);         \
  }
IN_REGISTERS(registers_4_tiles_16x16, turn_4, 4, 16, 16)
IN_REGISTERS(registers_4_tiles_64x64, turn_4, 4, 64, 64)
IN_REGISTERS(registers_8_tiles_16x16, turn_8, 8, 16, 16)
IN_REGISTERS(registers_8_tiles_64x64, turn_8, 8, 64, 64)
IN_REGISTERS(registers_8_tiles_16x64, turn_8, 8, 16, 64)
IN_REGISTERS(registers_8_tiles_64x16, turn_8, 8, 64, 16)

// A panel of columns of `a` is turned into a buffer that stays in the cache, and copied by rows.
#define BUFFERED(name, rows, columns)                                     \
  void name(int n, const float *restrict a, float *restrict b) {          \
    static float buffer[columns * rows] __attribute__((aligned(64)));     \
    for (int i0 = 0; i0 < n; i0 += rows)                                  \
      for (int j0 = 0; j0 < n; j0 += columns) {                           \
        for (int i = 0; i < rows; i += 8)                                 \
          for (int j = 0; j < columns; j += 8)                            \
            turn_8(n, a + (long)(i0 + i) * n + j0 + j, rows, buffer + j * rows + i); \
        for (int j = 0; j < columns; j++)                                 \
          memcpy(b + (long)(j0 + j) * n + i0, buffer + j * rows, rows * sizeof(float)); \
      }                                                                   \
  }
BUFFERED(buffered_16x64, 16, 64)
BUFFERED(buffered_64x64, 64, 64)
BUFFERED(buffered_128x32, 128, 32)
BUFFERED(buffered_64x256, 64, 256)

// The same with stores that do not read the lines of `b` first.
#define STREAMED(name, rows, columns)                                     \
  void name(int n, const float *restrict a, float *restrict b) {          \
    static float buffer[columns * rows] __attribute__((aligned(64)));     \
    for (int i0 = 0; i0 < n; i0 += rows)                                  \
      for (int j0 = 0; j0 < n; j0 += columns) {                           \
        for (int i = 0; i < rows; i += 8)                                 \
          for (int j = 0; j < columns; j += 8)                            \
            turn_8(n, a + (long)(i0 + i) * n + j0 + j, rows, buffer + j * rows + i); \
        for (int j = 0; j < columns; j++)                                 \
          for (int i = 0; i < rows; i += STREAM_LANES)                    \
            STREAM(b + (long)(j0 + j) * n + i0 + i, buffer + j * rows + i); \
      }                                                                   \
  }
#if defined(__AVX512F__)
#include <immintrin.h>
#define STREAM_LANES 16
#define STREAM(to, from) _mm512_stream_ps(to, _mm512_load_ps(from))
#elif defined(__AVX__)
#include <immintrin.h>
#define STREAM_LANES 8
#define STREAM(to, from) _mm256_stream_ps(to, _mm256_load_ps(from))
#else
#define STREAM_LANES 4
#define STREAM(to, from) (*(v4 *)(to) = *(const v4 *)(from))
#endif
STREAMED(streamed_16x64, 16, 64)
STREAMED(streamed_64x64, 64, 64)
