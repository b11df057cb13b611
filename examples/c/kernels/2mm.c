/* D = alpha A B C + beta D, through T = alpha A B */
void two_mm(int ni, int nj, int nk, int nl, double alpha, double beta, double T[ni][nj],
            double A[ni][nk], double B[nk][nj], double C[nj][nl], double D[ni][nl]) {
#pragma scop
  for (int i = 0; i < ni; i++)
    for (int j = 0; j < nj; j++) {
      T[i][j] = 0.0;
      for (int k = 0; k < nk; ++k)
        T[i][j] += alpha * A[i][k] * B[k][j];
    }
  for (int i = 0; i < ni; i++)
    for (int l = 0; l < nl; l++) {
      D[i][l] *= beta;
      for (int j = 0; j < nj; ++j)
        D[i][l] += T[i][j] * C[j][l];
    }
#pragma endscop
}
