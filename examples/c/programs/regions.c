/* Loops in the middle of functions that call others, or whose arrays share memory. */
#include <stdio.h>
static double persist(int steps, int n, double *a) {
  double t; int k;
  for (int s = 0; s < steps; s++) {
    printf("%d\n", s);
    for (int i = 0; i < n; i++) { if (s == 0 && i == 0) t = 5.0; a[i] += t; t = t * 1.5; }
  }
  return a[n-1];
}
#define LOOP(i) for (int i = 0; i < n; i++)
void macro(int n, double a[n], double b[n]) { LOOP(i) { a[i] = b[i] * 2; } if (n > 3) LOOP(i) a[i] += 1.0; else a[0] = 7; }
int alias(int *p, int *lim) { int c = 0; for (int i = 0; i < *lim; i++) { p[i] = 3; c++; } return c; }
int lim;
int alias2(int *p) { int c = 0; for (int i = 0; i < lim; i++) { p[i] = 3; c++; } return c; }
void buf(int n, double *x);
void buf(int n, double *x) { for (int i = 0; i < n; i++) x[i] += 1.5; }
double local(int n) {
  double v[100]; char *name = "x";
  for (int i = 0; i < n; i++) v[i] = i * 0.5;
  printf("%s\n", name);
  buf(n, v);
  double s = 0;
  for (int i = 0; i < n; i++) s += v[i];
  return s;
}
int early(int n, int *a) { int s = 0; for (int t = 0; t < 3; t++) { puts("x"); for (int i = 0; i < n; i++) { if (a[i] == 5) break; s += a[i]; } } return s; }
int sw(int k, int n, int *a) { switch (k) { case 1: puts("one"); for (int i = 0; i < n; i++) a[i]++; break; default: puts("d"); for (int i = 0; i < n; i++) a[i]--; } return a[0]; }
float fsum(int n, const float *restrict x, float *restrict y) { float s = 0; do { for (int i = 0; i < n; i++) { y[i] = x[i] * 0.3f + s; s += y[i]; } puts("z"); } while (s < 10); return s; }
int main(void) {
  double a[20] = {1, 2}, b[20] = {3, 4, 5}; int p[20] = {0}, q[20];
  printf("%.17g\n", persist(3, 20, a));
  macro(20, a, b); printf("%.17g\n", a[3]);
  macro(19, a, a + 1); printf("%.17g %.17g\n", a[3], a[10]);
  p[0] = 20; p[10] = 10; printf("%d\n", alias(p, p + 10));
  lim = 10; printf("%d\n", alias2(&lim - 0 * lim));
  printf("%.17g\n", local(80));
  for (int i = 0; i < 20; i++) q[i] = i;
  printf("%d %d %d\n", early(20, q), sw(1, 20, q), sw(2, 20, q));
  float x[10] = {1, 2, 3}, y[10]; printf("%.9g\n", fsum(10, x, y));
  return 0;
}
