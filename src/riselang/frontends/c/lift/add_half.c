/* Adds a block of sums to the elements at one side of the diagonal, j <= i or j >= i. */
void add_half(int n, int h, int w, int row, int column, ELEMENT scale,
              ELEMENT target[n][n], ELEMENT sums[h][w]) {
  for (int i = 0; i < h; i++)
    for (int j = 0; j < w; j++)
      if (row + i < n && column + j < n && column + j SIDE row + i)
        target[row + i][column + j] += scale * sums[i][j];
}
