/* arrays of one dimension that are used as if they had several */
void transposed(int n, int m, float *x, float *y) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      y[j * n + i] = x[i * m + j];
}

void product(int n, int m, int l, double *C, const double *A, const double *B) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      C[i * m + j] = 0.0;
      for (int k = 0; k < l; k++)
        C[i * m + j] += A[i * l + k] * B[k * m + j];
    }
}

void three(int n, int m, int l, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < l; k++)
        a[(i * m + j) * l + k] += i + 2 * j + 3 * k;
}

void fixed_rows(int n, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 10; j++)
      a[i * 10 + j] = a[i * 10 + 9 - j] + j;
}

void overlapping_rows(int n, int m, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= m; j++)
      a[i * m + j] = a[i * m + j] * 0.5 + i;
}

void pointers(int n, double *a, double *b) {
  for (int i = 0; i < n; i++)
    *(a + i) = *b + b[i];
}
