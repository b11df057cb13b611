/* integers of every width: C's rules for signs, wrap-around and conversions */
#include <stdint.h>

void signed_division(int n, int a[n], int b[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = (a[i] - 40) / 7 + (a[i] - 40) % 7;
    b[i] = (i - 5) / 3 * 100 + (i - 5) % 3;
  }
}

void negative_subscripts(int n, double a[4 * n], double b[n]) {
  for (int i = 0; i < n; i++)
    a[2 * n + (i - n) / 2 + (i - n) % 2] = b[i];
}

void bytes(int n, uint8_t a[n], int8_t b[n], uint16_t c[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = a[i] * 3 + b[i];
    b[i] += a[i];
    c[i] = (uint16_t)(a[i] << 6) ^ (uint16_t)b[i];
  }
}

void words(int n, uint32_t a[n], int64_t b[n], uint64_t c[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = a[i] * 2654435761u + (uint32_t)b[i];
    b[i] = (b[i] >> 3) - (int64_t)(a[i] & 0xff);
    c[i] = c[i] / 3 + (a[i] > 7u ? ~c[i] : c[i] % 5);
  }
}

void converted(int n, double d[n], float f[n], int i32[n], unsigned char c[n]) {
  for (int i = 0; i < n; i++) {
    f[i] = d[i] * 1.1;
    d[i] = f[i] + (float)i32[i];
    i32[i] = (int)(d[i] * 8.0) + c[i];
    c[i] = (unsigned char)(i32[i] > 0) + (c[i] == 3 || f[i] != 0.0f);
  }
}

void large_unsigned(int n, uint32_t a[n], double d[n], float f[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = ~a[i];
    d[i] += a[i];
    f[i] = a[i] * 3ul;
  }
}

void flags(int n, _Bool a[n], int b[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = b[i] & 6;
    b[i] = !a[i] + a[i] * 2;
  }
}

void compound(int n, int a[n], double d[n]) {
  for (int i = 0; i < n; i++) {
    a[i] += 2.75;
    a[i] *= 3;
    a[i] -= i;
    a[i] <<= 2;
    a[i] >>= 1;
    a[i] |= 1;
    a[i] ^= 5;
    a[i] &= ~2;
    a[i]--;
    d[i] /= 3;
    ++d[i];
  }
}
