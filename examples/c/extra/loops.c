/* loops up and down, with steps, and with bounds that are the least or greatest of several */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

void steps(int n, double a[n]) {
  for (int i = 1; i < n; i += 3)
    a[i] = a[i - 1] + 1.0;
  for (int i = n - 1; i > 0; i -= 2)
    a[i] *= a[i - 1];
}

void downward(int n, double a[n], double b[n]) {
  int i;
  for (i = n - 2; i >= 0; --i)
    a[i] = a[i + 1] * 0.5 + b[i];
}

void band(int n, int w, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = MAX(0, i - w); j < MIN(n, i + w + 1); j++)
      y[i] += A[i][j] * x[j];
}

void trapezoid(int n, int m, double A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = i / 2; j < m && j <= 2 * i + 1; j++)
      A[i][j] = A[i][j] + i - j;
}

void blocked(int n, double A[n][n], double B[n][n]) {
  for (int ii = 0; ii < n; ii += 4)
    for (int jj = 0; jj < n; jj += 4)
      for (int i = ii; i < MIN(ii + 4, n); i++)
        for (int j = jj; j < MIN(jj + 4, n); j++)
          B[j][i] = A[i][j];
}

void until_not_equal(int n, long a[n]) {
  for (int i = 0; i != n; i++)
    a[i] = a[i] * 3 - i;
}

void unsigned_counter(unsigned n, float a[n]) {
  for (unsigned i = 0; i < n; i++)
    a[i] = a[i] + i;
}

void wide_counter(int n, double a[n]) {
  for (long i = 0; i < n; i++)
    for (unsigned char c = 0; c < 5; c++)
      a[i] += c * 0.25;
}

int last_value(int n, double a[n]) {
  int i;
  for (i = 0; i < n; i++)
    a[i] += 1.0;
  return i;
}
