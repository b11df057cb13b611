/* 151 loops of the kinds that vectorizing compilers are tested with: dependences, induction
 * variables, control flow, reductions, recurrences, searches, packing, indirect subscripts.
 *
 * All have the same parameters: vectors of length n, which is m * m and a multiple of 16, matrices,
 * and positions. */

#include <math.h>

#define LOOP(name)                                                                              \
  double name(int n, int m, double a[restrict n], double b[restrict n], double c[restrict n],   \
              double d[restrict n], double e[restrict n], double aa[restrict m][m],             \
              double bb[restrict m][m], double cc[restrict m][m], int ip[restrict n])
#define FOR(i, from, to) for (int i = (from); i < (to); i++)

static double sum_of(double x, double y) { return x + y; }
static double weighted(double x, double y, double z) { return x + y * z; }
static double clamp(double x, double low, double high) {
  if (x < low)
    return low;
  if (x > high)
    return high;
  return x;
}

/* Elementwise operations and offsets. */
LOOP(l001) { FOR(i, 0, n) a[i] = b[i] + 1.0; return 0; }
LOOP(l002) { FOR(i, 0, n) a[i] = b[i] * c[i] + d[i]; return 0; }
LOOP(l003) { FOR(i, 0, n - 1) a[i] = a[i + 1] + b[i]; return 0; }
LOOP(l004) { FOR(i, 1, n) a[i] = a[i - 1] + b[i]; return 0; }
LOOP(l005) { for (int i = 1; i < n; i += 2) a[i] = a[i - 1] + b[i]; return 0; }
LOOP(l006) { for (int i = n - 2; i >= 0; i--) a[i + 1] = a[i] + b[i]; return 0; }
LOOP(l007) { for (int i = n - 2; i >= 0; i--) a[i] = a[i + 1] * 0.5 + b[i]; return 0; }
LOOP(l008) { FOR(i, 0, n / 2) a[i] = a[i + n / 2] + b[i]; return 0; }
LOOP(l009) { FOR(i, 0, n / 2) a[2 * i] = a[2 * i + 1] + b[i]; return 0; }
LOOP(l010) { FOR(i, 0, n - 4) a[i] = a[i + 4] * b[i]; return 0; }
LOOP(l011) { FOR(i, 4, n) a[i] = a[i - 4] * 0.5 + b[i]; return 0; }
LOOP(l012) { FOR(i, 0, n) a[i] = b[n - 1 - i] * c[i]; return 0; }
LOOP(l013) { FOR(i, 0, n) a[i] = -b[i] / (c[i] + 2.0); return 0; }
LOOP(l014) { FOR(i, 0, n) a[i] = sqrt(fabs(b[i])) + fmax(c[i], d[i]); return 0; }
LOOP(l015) { FOR(i, 0, n) a[i] = b[i]; return 0; }
LOOP(l016) { FOR(i, 0, n) a[i] = i * 0.5; return 0; }

/* Matrices and their order of loops. */
LOOP(l017) { FOR(i, 0, m) FOR(j, 0, m) aa[i][j] = bb[i][j] + cc[i][j]; return 0; }
LOOP(l018) { FOR(j, 0, m) FOR(i, 0, m) aa[i][j] = bb[i][j] * cc[i][j]; return 0; }
LOOP(l019) { FOR(i, 0, m) FOR(j, 0, m) aa[i][j] = bb[j][i]; return 0; }
LOOP(l020) { FOR(i, 1, m) FOR(j, 0, m) aa[i][j] = aa[i - 1][j] + bb[i][j]; return 0; }
LOOP(l021) { FOR(i, 0, m) FOR(j, 1, m) aa[i][j] = aa[i][j - 1] + bb[i][j]; return 0; }
LOOP(l022) { FOR(i, 1, m) FOR(j, 0, i) aa[i][j] = aa[j][i] + bb[i][j]; return 0; }
LOOP(l023) { FOR(i, 0, m) FOR(j, i, m) aa[i][j] = bb[i][j] * 2.0; return 0; }
LOOP(l024) { FOR(i, 1, m) FOR(j, 1, m) aa[i][j] = aa[i - 1][j - 1] + bb[i][j]; return 0; }
LOOP(l025) { FOR(i, 1, m) FOR(j, 1, m) aa[i][j] = (aa[i - 1][j] + aa[i][j - 1]) * 0.5; return 0; }
LOOP(l026) { FOR(j, 1, m) FOR(i, 1, m) aa[i][j] = aa[i - 1][j] + bb[i][j]; return 0; }
LOOP(l027) { FOR(i, 0, m) aa[i][i] = bb[i][i] + 1.0; return 0; }
LOOP(l028) { FOR(i, 0, m) FOR(j, 0, m) FOR(k, 0, m) aa[i][j] += bb[i][k] * cc[k][j]; return 0; }
LOOP(l029) { FOR(i, 0, m) FOR(j, 0, m) a[i] += aa[i][j] * b[j]; return 0; }
LOOP(l030) { FOR(j, 0, m) FOR(i, 0, m) a[i] += aa[j][i] * b[j]; return 0; }
LOOP(l031) { FOR(i, 1, m - 1) FOR(j, 1, m - 1)
    aa[i][j] = (bb[i - 1][j] + bb[i + 1][j] + bb[i][j - 1] + bb[i][j + 1]) * 0.25; return 0; }
LOOP(l032) { FOR(i, 0, m) FOR(j, 0, m) aa[i][j] += b[i] * c[j]; return 0; }
LOOP(l033) { FOR(i, 0, m) { double s = 0; FOR(j, 0, m) s += aa[j][i] * bb[j][i]; a[i] = s; } return 0; }
LOOP(l034) { FOR(i, 0, m) FOR(j, 0, m) a[i * m + j] = bb[i][j] + c[i]; return 0; }
LOOP(l035) { FOR(i, 0, m) { a[i] = 0; FOR(j, 0, i + 1) a[i] += bb[i][j] * c[j]; } return 0; }
LOOP(l036) { FOR(i, 0, m) { FOR(j, 0, i) a[i] -= aa[i][j] * a[j]; a[i] /= aa[i][i] + 10.0; } return 0; }
LOOP(l037) { FOR(i, 1, m) { FOR(j, 1, m) bb[i][j] = bb[i][j - 1] * 0.5 + 1.0;
    FOR(j, 0, m) aa[i][j] = aa[i - 1][j] + bb[i][j]; } return 0; }
LOOP(l038) { FOR(i, 1, m) { b[i] += c[i]; FOR(j, 1, m) aa[i][j] = aa[i][j - 1] + b[i]; } return 0; }
LOOP(l039) { FOR(j, 1, m) FOR(i, 0, m - j) aa[i][i + j] = aa[i][i + j - 1] + bb[i][j]; return 0; }
LOOP(l040) { FOR(t, 0, 4) { FOR(i, 1, n - 1) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0;
    FOR(i, 1, n - 1) a[i] = (b[i - 1] + b[i] + b[i + 1]) / 3.0; } return 0; }

/* Induction variables. */
LOOP(l041) { int k = 0; FOR(i, 0, n / 2) { k += 2; a[i] = b[k - 1] + c[i]; } return 0; }
LOOP(l042) { int k = -1; FOR(i, 0, n / 2) { k++; a[k] = b[i] + d[i] * e[i]; k++; a[k] = b[i] + c[i]; } return 0; }
LOOP(l043) { int j = n; FOR(i, 0, n) { j--; a[i] = b[j] - c[i]; } return 0; }
LOOP(l044) { double s = 0; FOR(i, 0, n) { s += 2.0; a[i] = s * b[i]; } return s; }
LOOP(l045) { int k = 0; FOR(i, 0, m) FOR(j, 0, m) { a[k] = aa[i][j] + bb[j][i]; k++; } return k; }
LOOP(l046) { int last = n - 1; FOR(i, 0, n) { a[i] = (b[i] + b[last]) * 0.5; last = i; } return 0; }
LOOP(l047) { int one = n - 1, two = n - 2;
    FOR(i, 0, n) { a[i] = (b[i] + b[one] + b[two]) / 3.0; two = one; one = i; } return 0; }
LOOP(l048) { double x = b[n - 1]; FOR(i, 0, n) { a[i] = (b[i] + x) * 0.5; x = b[i]; } return 0; }
LOOP(l049) { double x = b[n - 1], y = b[n - 2];
    FOR(i, 0, n) { a[i] = (b[i] + x + y) / 3.0; y = x; x = b[i]; } return 0; }
LOOP(l050) { int i = 0; while (i < n) { a[i] = b[i] * c[i]; i++; } return 0; }
LOOP(l051) { int i = n; while (i-- > 0) a[i] += b[i]; return 0; }
LOOP(l052) { double *p = a, *q = b + 1; FOR(i, 0, n - 1) p[i] = q[i] * 2.0; return 0; }
LOOP(l053) { for (int i = 0, j = n - 1; i < j; i++, j--) a[i] = b[j] + c[i]; return 0; }
LOOP(l054) { int k = 0; for (int i = 0; i < n; i += 4) { b[k] = a[i] + a[i + 1] + a[i + 2] + a[i + 3]; k++; } return 0; }
LOOP(l055) { for (int s = 1; s < n; s *= 2) a[s] = b[s] + s; return 0; }
LOOP(l056) { for (int s = 1; s < n; s *= 2) FOR(i, 0, n - s) c[i] = d[i] + e[i + s]; return 0; }

/* Several statements, their order and distribution. */
LOOP(l057) { FOR(i, 0, n) { a[i] = b[i] + c[i]; d[i] = a[i] * e[i]; } return 0; }
LOOP(l058) { FOR(i, 1, n) { a[i] = b[i - 1] + c[i]; b[i] = d[i] * e[i]; } return 0; }
LOOP(l059) { FOR(i, 0, n - 1) { a[i] = b[i] + c[i]; d[i] = a[i + 1] * e[i]; } return 0; }
LOOP(l060) { FOR(i, 0, n - 1) { d[i] = a[i + 1] - e[i]; a[i] = b[i] * c[i]; } return 0; }
LOOP(l061) { FOR(i, 1, n) { a[i] = c[i] * d[i]; b[i] = b[i - 1] + a[i]; } return 0; }
LOOP(l062) { FOR(i, 1, n) { a[i] = a[i - 1] * 0.5 + b[i]; c[i] = a[i] * d[i]; } return 0; }
LOOP(l063) { FOR(i, 1, n - 1) { a[i] = b[i - 1] + c[i]; b[i] = b[i + 1] - e[i] * d[i]; } return 0; }
LOOP(l064) { FOR(i, 0, n) { double t = a[i]; a[i] = b[i]; b[i] = t; } return 0; }
LOOP(l065) { FOR(i, 0, n) { double s = b[i] + c[i]; a[i] = s * s; } return 0; }
LOOP(l066) { double t = 0; FOR(i, 0, n) { double s = b[i] * c[i]; a[i] = s + t; t = s; } return t; }
LOOP(l067) { FOR(i, 0, n) { double s = a[i] + b[i]; c[i] = s + s; s = d[i] * e[i]; a[i] = s * s; } return 0; }
LOOP(l068) { FOR(i, 0, n - 1) { double t = a[i] * b[i + 1]; c[i] = t; a[i + 1] = d[i]; } return 0; }
LOOP(l069) { FOR(i, 0, n) { a[i] += c[i] * d[i]; b[i] += a[i] + e[i]; c[i] = b[i] * 0.5; } return 0; }
LOOP(l070) { FOR(i, 1, n) { c[i] = a[i] + 1.0; a[i - 1] = b[i] * 2.0; } return 0; }
LOOP(l071) { FOR(i, 2, n) { a[i] = a[i - 2] * 0.5 + b[i]; c[i] = d[i] + e[i]; } return 0; }
LOOP(l072) { FOR(t, 0, 3) FOR(i, 1, n) a[i] = a[i] * 0.5 + b[i - 1]; return 0; }
LOOP(l073) { FOR(i, 0, n) b[i] = a[i] + c[i]; FOR(i, 0, n) d[i] = b[i] * e[i]; return 0; }
LOOP(l074) { FOR(i, 0, n) { a[i] = 0; FOR(k, 0, 8) a[i] += b[(i + k) % n] * 0.125; } return 0; }

/* Conditions. */
LOOP(l075) { FOR(i, 0, n) if (b[i] > 1.0) a[i] = b[i]; return 0; }
LOOP(l076) { FOR(i, 0, n) if (b[i] > c[i]) a[i] += b[i] * d[i]; else a[i] += c[i] * e[i]; return 0; }
LOOP(l077) { FOR(i, 0, n) { if (a[i] < 1.0) { if (b[i] > a[i]) a[i] += b[i] * d[i]; } else a[i] += c[i]; } return 0; }
LOOP(l078) { FOR(i, 0, n) a[i] = b[i] > 1.0 ? b[i] + c[i] : b[i] * c[i]; return 0; }
LOOP(l079) { FOR(i, 0, n) { if (i < n / 2) a[i] = b[i]; else a[i] = c[i]; } return 0; }
LOOP(l080) { FOR(i, 0, n) { if (i % 2) a[i] = b[i]; else a[i] = -b[i]; } return 0; }
LOOP(l081) { FOR(i, 0, m) FOR(j, 0, m) if (aa[i][j] > 1.0) bb[i][j] = aa[i][j] * cc[i][j]; return 0; }
LOOP(l082) { FOR(i, 0, m) if (a[i] > 1.0) FOR(j, 0, m) aa[i][j] += bb[i][j] * cc[i][j]; return 0; }
LOOP(l083) { FOR(i, 0, n) { if (d[i] < 1.0) continue; a[i] = b[i] / d[i]; } return 0; }
LOOP(l084) { FOR(i, 0, n) { switch (i & 3) { case 0: a[i] = b[i]; break; case 1: a[i] = c[i]; break;
    case 2: a[i] = d[i]; break; default: a[i] = e[i]; } } return 0; }
LOOP(l085) { FOR(i, 0, n) { switch (ip[i] & 3) { case 0: a[i] += b[i]; break; case 1: a[i] *= c[i]; break;
    default: a[i] -= d[i]; } } return 0; }
LOOP(l086) { FOR(i, 0, n) { if (a[i] > 1.3) goto next; b[i] = a[i] * c[i]; next: d[i] = b[i] + 1.0; } return 0; }
LOOP(l087) { FOR(i, 0, n) a[i] = clamp(b[i] * c[i], 0.5, 1.5); return 0; }
LOOP(l088) { FOR(i, 0, n) { double x = b[i]; if (x < 0.0) x = -x; if (x > 1.0) x = 1.0; a[i] = x; } return 0; }
LOOP(l089) { FOR(i, 1, n) { if (b[i] > 1.0) a[i] = a[i - 1] + b[i]; else a[i] = c[i]; } return 0; }
LOOP(l090) { FOR(i, 0, n) { if (a[i] > b[i] && c[i] < d[i]) e[i] = a[i]; } return 0; }
LOOP(l091) { FOR(i, 0, n) { if (a[i] > b[i] || c[i] < d[i]) e[i] = 1.0; else e[i] = 0.0; } return 0; }

/* Reductions. */
LOOP(l092) { double s = 0; FOR(i, 0, n) s += a[i]; return s; }
LOOP(l093) { double s = 0; FOR(i, 0, n) s += a[i] * b[i]; return s; }
LOOP(l094) { double p = 1; FOR(i, 0, n) p *= 1.0 + a[i] * 1e-4; return p; }
LOOP(l095) { double x = a[0]; FOR(i, 1, n) if (a[i] > x) x = a[i]; return x; }
LOOP(l096) { double x = a[0]; FOR(i, 1, n) x = a[i] < x ? a[i] : x; return x; }
LOOP(l097) { double x = a[0]; int k = 0; FOR(i, 1, n) if (a[i] > x) { x = a[i]; k = i; } return x + k; }
LOOP(l098) { double x = fabs(a[0]); FOR(i, 1, n) { double y = fabs(a[i]); if (y > x) x = y; } return x; }
LOOP(l099) { double s = 0; FOR(i, 0, n) if (a[i] > 1.0) s += a[i]; return s; }
LOOP(l100) { int k = 0; FOR(i, 0, n) k += a[i] > 1.0; return k; }
LOOP(l101) { double s = 0, t = 0; FOR(i, 0, n) { s += a[i]; t += b[i] * c[i]; } return s - t; }
LOOP(l102) { double s = 0; FOR(i, 0, m) FOR(j, 0, m) s += aa[i][j]; return s; }
LOOP(l103) { double x = aa[0][0]; FOR(i, 0, m) FOR(j, 0, m) if (aa[i][j] > x) x = aa[i][j]; return x; }
LOOP(l104) { FOR(i, 0, m) { double s = 0; FOR(j, 0, m) s += aa[i][j] * aa[i][j]; b[i] = sqrt(s); } return 0; }
LOOP(l105) { double s = 0; for (int i = 0; i < n; i += 4) s += a[i] + a[i + 1] + a[i + 2] + a[i + 3]; return s; }
LOOP(l106) { double s = 0; FOR(i, 0, n) s = sum_of(s, b[i] * c[i]); return s; }
LOOP(l107) { double s = 0; FOR(i, 0, n) { double t = a[i] - b[i]; s += t * t; } return s; }
LOOP(l108) { int s = 0; FOR(i, 0, n) s += ip[i] & 15; return s; }
LOOP(l109) { int s = 0; FOR(i, 0, n) s ^= ip[i] * 3; return s; }
LOOP(l110) { int x = ip[0]; FOR(i, 1, n) if (ip[i] > x) x = ip[i]; return x; }
LOOP(l111) { double s = 0; FOR(i, 0, n - 3) s += a[i] * b[i + 3]; return s; }
LOOP(l112) { double x = a[0]; int ki = 0, kj = 0; FOR(i, 0, m) FOR(j, 0, m) if (aa[i][j] < x) { x = aa[i][j]; ki = i; kj = j; } return x + ki * m + kj; }

/* Recurrences. */
LOOP(l113) { FOR(i, 1, n) a[i] = b[i] - a[i - 1] * c[i]; return 0; }
LOOP(l114) { FOR(i, 2, n) a[i] = a[i - 1] * 0.5 + a[i - 2] * 0.25 + b[i]; return 0; }
LOOP(l115) { double x = 0; FOR(i, 0, n) { x = x * 0.5 + a[i]; b[i] = x; } return x; }
LOOP(l116) { double s = 0; FOR(i, 0, n) { s += a[i]; b[i] = s; } return s; }
LOOP(l117) { double x = a[0]; FOR(i, 0, n) { x = a[i] > x ? a[i] : x; b[i] = x; } return x; }
LOOP(l118) { FOR(j, 0, m) FOR(i, 1, m) aa[i][j] = aa[i - 1][j] * bb[i][j] + cc[i][j]; return 0; }
LOOP(l119) { FOR(i, 1, m) FOR(j, 1, m) aa[i][j] = aa[i][j - 1] * 0.25 + aa[i - 1][j] * 0.25 + bb[i][j]; return 0; }
LOOP(l120) { FOR(i, 0, n - 16) a[i + 16] = a[i] * 0.5 + b[i]; return 0; }
LOOP(l121) { FOR(i, 1, n) a[i] = sqrt(fabs(a[i - 1])) + b[i]; return 0; }

/* Searches and early exits. */
LOOP(l122) { FOR(i, 0, n) if (a[i] > 1.49) return i; return -1; }
LOOP(l123) { int k = -1; FOR(i, 0, n) if (a[i] > 1.49) { k = i; break; } return k; }
LOOP(l124) { FOR(i, 0, n) { if (d[i] < 0.0) break; a[i] = b[i] * c[i]; } return 0; }
LOOP(l125) { int k = -1; FOR(i, 0, n) if (a[i] < 0.55) k = i; return k; }
LOOP(l126) { int i = 0; while (i < n - 1 && a[i] < 1.49) i++; return i; }
LOOP(l127) { int i, j; FOR(k, 0, 1) for (i = 0; i < m; i++) for (j = 0; j < m; j++) if (aa[i][j] > 1.499) goto done;
    i = j = m; done: return i * m + j; }
LOOP(l128) { double s = 0; FOR(i, 0, n) { s += a[i]; if (s > 1e6) break; } return s; }
LOOP(l129) { int k = 0; do { a[k] = b[k] + 1.0; k++; } while (k < n && b[k] > 0.0); return k; }

/* Packing and indirect subscripts. */
LOOP(l130) { int k = 0; FOR(i, 0, n) if (b[i] > 1.0) a[k++] = b[i]; return k; }
LOOP(l131) { int k = 0; FOR(i, 0, n) if (b[i] > 1.0) { a[i] = b[k] * c[i]; k++; } return k; }
LOOP(l132) { int k = 0; FOR(i, 0, n) { a[k] = b[i]; k += c[i] > 1.0; } return k; }
LOOP(l133) { FOR(i, 0, n) a[i] = b[ip[i]]; return 0; }
LOOP(l134) { FOR(i, 0, n) a[ip[i]] = b[i] + c[i]; return 0; }
LOOP(l135) { FOR(i, 0, n) a[ip[i]] += b[i]; return 0; }
LOOP(l136) { FOR(i, 0, n) a[i] += b[ip[i]] * c[i]; return 0; }
LOOP(l137) { double s = 0; FOR(i, 0, n) s += a[ip[i]] * b[i]; return s; }
LOOP(l138) { FOR(i, 0, m) FOR(j, 0, m) aa[i][j] = bb[i][ip[j] % m]; return 0; }
LOOP(l139) { FOR(i, 0, n) ip[i] = (ip[i] * 5 + 3) % n; return 0; }
LOOP(l140) { int h[64] = {0}; FOR(i, 0, n) h[ip[i] & 63]++; FOR(i, 0, 64) a[i] = h[i]; return 0; }

/* Unrolled by hand, symbolic distances, calls, and everything at once. */
LOOP(l141) { for (int i = 0; i < n; i += 4) { a[i] = b[i] * 2.0; a[i + 1] = b[i + 1] * 2.0;
    a[i + 2] = b[i + 2] * 2.0; a[i + 3] = b[i + 3] * 2.0; } return 0; }
LOOP(l142) { for (int i = 0; i < n; i += 2) { a[i] += c[0] * b[i]; a[i + 1] += c[0] * b[i + 1]; } return 0; }
LOOP(l143) { int k = m; FOR(i, 0, n - k) a[i] = a[i + k] + b[i]; return 0; }
LOOP(l144) { int k = m; FOR(i, 0, n - k) a[i + k] = a[i] * 0.5 + b[i]; return 0; }
LOOP(l145) { for (int i = 0; i < n; i += m) a[i] = b[i] + 1.0; return 0; }
LOOP(l146) { FOR(i, 0, n) a[i] = weighted(b[i], c[i], d[i]); return 0; }
LOOP(l147) { FOR(i, 0, n) a[i] = weighted(a[i], sum_of(b[i], c[i]), clamp(d[i], 0.0, 1.0)); return 0; }
LOOP(l148) { FOR(i, 0, n / 2) { a[2 * i] = b[2 * i] * c[2 * i] - b[2 * i + 1] * c[2 * i + 1];
    a[2 * i + 1] = b[2 * i] * c[2 * i + 1] + b[2 * i + 1] * c[2 * i]; } return 0; }
LOOP(l149) { FOR(i, 0, n) a[i] = ((b[i] * 0.5 + 0.25) * b[i] + 0.125) * b[i] + 1.0; return 0; }
LOOP(l150) { FOR(i, 0, n) a[i] = exp(-b[i]) * sin(c[i]); return 0; }
LOOP(l151) { FOR(i, 0, m) FOR(j, 0, m) { double s = 0; FOR(k, 0, 3) FOR(l, 0, 3)
    s += bb[(i + k) % m][(j + l) % m]; aa[i][j] = s / 9.0; } return 0; }
