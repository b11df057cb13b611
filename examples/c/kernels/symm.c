/* C = alpha A B + beta C, where A is symmetric and only its lower half is read */
void symm(int m, int n, double alpha, double beta, double C[m][n], double A[m][m],
          double B[m][n]) {
  double sum;
#pragma scop
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      sum = 0;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        sum += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
    }
#pragma endscop
}
