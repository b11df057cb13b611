/* stores and loads away from the loop variables: offsets past 1, factors other than 1 */
void shifted_store(int n, double a[n + 4], double b[n]) {
  for (int i = 0; i < n; i++)
    a[i + 3] = b[i] * 2.0;
}

void far_stencil(int n, double a[n], double b[n]) {
  for (int i = 3; i < n - 5; i++)
    b[i] = a[i - 3] + 0.5 * a[i + 5] - a[i + 2];
}

void every_second(int n, float a[2 * n + 1], float b[3 * n]) {
  for (int i = 0; i < n; i++)
    a[2 * i + 1] = b[3 * i] - b[3 * i + 2];
}

void back_to_front(int n, int a[n], int b[n]) {
  for (int i = 0; i < n; i++)
    a[n - 1 - i] = b[i] + i;
}

void skewed(int n, double A[2 * n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[i + j][j] = A[i + j][n - 1 - j] * 0.5 + i;
}

void corners(int n, double A[n][n]) {
  A[0][0] = 1.0;
  A[0][n - 1] = A[0][0] + A[n - 1][n - 1];
  A[n - 1][0] = A[0][n - 1] / 3.0;
}
