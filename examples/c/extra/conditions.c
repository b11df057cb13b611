/* conditions with and, or, not and else; some are decided by data */
void edges(int n, double A[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (i == 0 || j == 0 || i == n - 1 || j == n - 1)
        A[i][j] = 0.0;
      else if (!(i < j) && i + j < n)
        A[i][j] = A[i][j] * 2.0;
      else
        A[i][j] = A[i - 1][j - 1] + 1.0;
    }
}

void every_third(int n, int a[n]) {
  for (int i = 0; i < n; i++)
    if (i % 3 == 1 && i / 2 != 4)
      a[i] = -a[i];
}

void clamp(int n, double a[n], double low, double high) {
  for (int i = 0; i < n; i++) {
    if (a[i] < low)
      a[i] = low;
    else if (a[i] > high)
      a[i] = high;
  }
}

int count_positive(int n, int a[n]) {
  int found = 0;
  for (int i = 0; i < n; i++)
    if (a[i] > 0)
      found++;
  return found;
}

void guarded_division(int n, int a[n], int b[n]) {
  for (int i = 0; i < n; i++)
    a[i] = (b[i] != 0 && a[i] / b[i] > 1) ? a[i] % b[i] : -1;
}

void neighbour(int n, double a[n], double b[n]) {
  for (int i = 0; i < n; i++)
    b[i] = i > 0 ? a[i - 1] : (n > 1 ? a[1] : 0.0);
}

void rows_of_data(int n, int rows, int start[rows + 1], double value[n], double sum[rows]) {
  for (int r = 0; r < rows; r++) {
    sum[r] = 0.0;
    for (int k = start[r]; k < start[r + 1]; k++)
      sum[r] += value[k];
  }
}
