/* functions of the file, functions of the math library, and variables inside of regions */
#include <math.h>

static double square(double x) { return x * x; }

static int largest(int a, int b) {
  if (a > b)
    return a;
  return b;
}

static void add_row(int m, double to[m], double from[m], double factor) {
  for (int j = 0; j < m; j++)
    to[j] += factor * from[j];
}

static double norm(int n, double x[n]) {
  double total = 0.0;
  for (int i = 0; i < n; i++)
    total += square(x[i]);
  return sqrt(total);
}

void distances(int n, double x[n], double y[n], double d[n]) {
  for (int i = 0; i < n; i++)
    d[i] = sqrt(square(x[i]) + square(y[i])) + fabs(x[i] - y[i]) + fmax(x[i], 1.0);
}

void eliminate(int n, int m, double A[n][m]) {
  for (int i = 1; i < n; i++)
    add_row(m, A[i], A[i - 1], -0.5);
}

void normalised(int n, double x[n]) {
  double length = norm(n, x);
  for (int i = 0; i < n; i++)
    x[i] = x[i] / length;
}

void running_largest(int n, int a[n]) {
  for (int i = 1; i < n; i++)
    a[i] = largest(a[i], a[i - 1]);
}

void library(int n, double a[n], float f[n]) {
  for (int i = 0; i < n; i++) {
    a[i] = exp(-a[i]) + pow(a[i], 1.5) + floor(a[i] * 3.0) + atan2(a[i], 2.0);
    f[i] = sinf(f[i]) + powf(f[i], 0.25f) + fabsf(f[i] - 1.0f) + ceilf(f[i]);
  }
}

void inside(int n, double a[n], double b[n]) {
  const int half = n / 2;
  double window[3];
  for (int i = 1; i < n - 1; i++) {
    double sum = 0.0;
    int left = i - 1;
    window[0] = a[left];
    window[1] = a[i];
    window[2] = a[i + 1];
    for (int k = 0; k < 3; k++)
      sum += window[k] * (k + 1);
    b[i] = i < half ? sum : -sum;
  }
}

double mean_of_squares(int n, double a[n]) {
  double total = 0.0, count = n;
  for (int i = 0; i < n; i++)
    total += square(a[i]);
  return total / count;
}
