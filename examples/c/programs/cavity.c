/*
 * Flow in a cavity with a moving lid: the incompressible Navier-Stokes equations in two dimensions,
 * on a staggered grid, with a projection method, and a tracer that the flow transports.
 *
 *   cavity [CELLS] [STEPS] [REYNOLDS]
 *
 * The program prints the kinetic energy, the divergence and the residual of the pressure while it
 * runs, and the profiles of Ghia et al. at the end.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CELLS 1024
#define SWEEPS 24
#define GHOSTS 2
#define PROFILE_POINTS 17
#define SQUARE(x) ((x) * (x))

typedef double real;

/* The parameters of a run. */
static int cells = 192;
static int steps = 100;
static real reynolds = 400.0;
static real lid_speed = 1.0;
static real schmidt = 0.7;

static void fail(const char *message) {
  fprintf(stderr, "cavity: %s\n", message);
  exit(EXIT_FAILURE);
}

static real *allocate(int rows, int columns) {
  real *field = calloc((size_t)rows * columns, sizeof *field);
  if (field == NULL)
    fail("there is not enough memory");
  return field;
}

/* ---------------------------------------------------------------------------------------------
 * Boundaries. The horizontal speed u is on vertical faces, the vertical speed v on horizontal
 * ones; there is a layer of ghost cells around the cavity.
 */

static void set_speed_boundaries(int n, real u[n + 2][n + 2], real v[n + 2][n + 2], real speed) {
  for (int i = 0; i < n + 2; i++) {
    u[0][i] = -u[1][i];
    u[n + 1][i] = 2.0 * speed - u[n][i];
  }
  for (int j = 0; j < n + 2; j++) {
    u[j][0] = 0.0;
    u[j][n] = 0.0;
  }
  for (int i = 0; i < n + 2; i++) {
    v[0][i] = 0.0;
    v[n][i] = 0.0;
  }
  for (int j = 0; j < n + 2; j++) {
    v[j][0] = -v[j][1];
    v[j][n + 1] = -v[j][n];
  }
}

static void set_neumann_boundaries(int n, real p[n + 2][n + 2]) {
  for (int j = 0; j < n + 2; j++) {
    p[j][0] = p[j][1];
    p[j][n + 1] = p[j][n];
  }
  for (int i = 0; i < n + 2; i++) {
    p[0][i] = p[1][i];
    p[n + 1][i] = p[n][i];
  }
}

static void set_tracer_boundaries(int n, real c[n + 2][n + 2]) {
  for (int j = 1; j <= n; j++) {
    c[j][0] = c[j][1];
    c[j][n + 1] = c[j][n];
  }
  for (int i = 0; i < n + 2; i++) {
    c[0][i] = -c[1][i];
    c[n + 1][i] = 2.0 - c[n][i];
  }
}

/* ---------------------------------------------------------------------------------------------
 * Momentum: advection by central differences with some upwinding, and diffusion.
 */

static void predict_u(int n, real dt, real h, real nu, real gamma, real u[n + 2][n + 2],
                      real v[n + 2][n + 2], real us[n + 2][n + 2]) {
  for (int j = 1; j <= n; j++)
    for (int i = 1; i < n; i++) {
      real east = 0.5 * (u[j][i] + u[j][i + 1]);
      real west = 0.5 * (u[j][i - 1] + u[j][i]);
      real north = 0.5 * (v[j][i] + v[j][i + 1]);
      real south = 0.5 * (v[j - 1][i] + v[j - 1][i + 1]);
      real uu = east * east - west * west
                + gamma * (fabs(east) * 0.5 * (u[j][i] - u[j][i + 1])
                           - fabs(west) * 0.5 * (u[j][i - 1] - u[j][i]));
      real uv = north * 0.5 * (u[j][i] + u[j + 1][i]) - south * 0.5 * (u[j - 1][i] + u[j][i])
                + gamma * (fabs(north) * 0.5 * (u[j][i] - u[j + 1][i])
                           - fabs(south) * 0.5 * (u[j - 1][i] - u[j][i]));
      real laplacian = (u[j][i + 1] - 2.0 * u[j][i] + u[j][i - 1]
                        + u[j + 1][i] - 2.0 * u[j][i] + u[j - 1][i]) / (h * h);
      us[j][i] = u[j][i] + dt * (nu * laplacian - (uu + uv) / h);
    }
}

static void predict_v(int n, real dt, real h, real nu, real gamma, real u[n + 2][n + 2],
                      real v[n + 2][n + 2], real vs[n + 2][n + 2]) {
  for (int j = 1; j < n; j++)
    for (int i = 1; i <= n; i++) {
      real east = 0.5 * (u[j][i] + u[j + 1][i]);
      real west = 0.5 * (u[j][i - 1] + u[j + 1][i - 1]);
      real north = 0.5 * (v[j][i] + v[j + 1][i]);
      real south = 0.5 * (v[j - 1][i] + v[j][i]);
      real vv = north * north - south * south
                + gamma * (fabs(north) * 0.5 * (v[j][i] - v[j + 1][i])
                           - fabs(south) * 0.5 * (v[j - 1][i] - v[j][i]));
      real uv = east * 0.5 * (v[j][i] + v[j][i + 1]) - west * 0.5 * (v[j][i - 1] + v[j][i])
                + gamma * (fabs(east) * 0.5 * (v[j][i] - v[j][i + 1])
                           - fabs(west) * 0.5 * (v[j][i - 1] - v[j][i]));
      real laplacian = (v[j][i + 1] - 2.0 * v[j][i] + v[j][i - 1]
                        + v[j + 1][i] - 2.0 * v[j][i] + v[j - 1][i]) / (h * h);
      vs[j][i] = v[j][i] + dt * (nu * laplacian - (uv + vv) / h);
    }
}

/* The walls do not move, so the predicted speeds at them are those before. */
static void copy_walls(int n, real u[n + 2][n + 2], real v[n + 2][n + 2], real us[n + 2][n + 2],
                       real vs[n + 2][n + 2]) {
  for (int j = 1; j <= n; j++) {
    us[j][0] = u[j][0];
    us[j][n] = u[j][n];
  }
  for (int i = 1; i <= n; i++) {
    vs[0][i] = v[0][i];
    vs[n][i] = v[n][i];
  }
}

/* ---------------------------------------------------------------------------------------------
 * Pressure: a Poisson equation, whose solution makes the speeds free of divergence.
 */

static void compute_source(int n, real dt, real h, real us[n + 2][n + 2], real vs[n + 2][n + 2],
                           real rhs[n + 2][n + 2]) {
  real factor = 1.0 / (dt * h);
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++)
      rhs[j][i] = factor * (us[j][i] - us[j][i - 1] + vs[j][i] - vs[j - 1][i]);
}

/* Successive over-relaxation: each cell uses the new values of the cells before it. */
static void relax_pressure(int n, real h, real omega, real p[n + 2][n + 2],
                           real rhs[n + 2][n + 2]) {
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++)
      p[j][i] = (1.0 - omega) * p[j][i]
                + omega * 0.25 * (p[j][i - 1] + p[j][i + 1] + p[j - 1][i] + p[j + 1][i]
                                  - h * h * rhs[j][i]);
}

static void solve_pressure(int n, real h, int sweeps, real p[n + 2][n + 2],
                           real rhs[n + 2][n + 2]) {
  for (int sweep = 0; sweep < sweeps; sweep++) {
    relax_pressure(n, h, 1.6, p, rhs);
    set_neumann_boundaries(n, p);
  }
}

static real pressure_residual(int n, real h, real p[n + 2][n + 2], real rhs[n + 2][n + 2]) {
  real worst = 0.0;
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++) {
      real laplacian = (p[j][i - 1] + p[j][i + 1] + p[j - 1][i] + p[j + 1][i] - 4.0 * p[j][i])
                       / (h * h);
      real residual = fabs(laplacian - rhs[j][i]);
      if (residual > worst)
        worst = residual;
    }
  return worst;
}

static void correct_speeds(int n, real dt, real h, real us[n + 2][n + 2], real vs[n + 2][n + 2],
                           real p[n + 2][n + 2], real u[n + 2][n + 2], real v[n + 2][n + 2]) {
  real factor = dt / h;
  for (int j = 1; j <= n; j++)
    for (int i = 1; i < n; i++)
      u[j][i] = us[j][i] - factor * (p[j][i + 1] - p[j][i]);
  for (int j = 1; j < n; j++)
    for (int i = 1; i <= n; i++)
      v[j][i] = vs[j][i] - factor * (p[j + 1][i] - p[j][i]);
}

/* ---------------------------------------------------------------------------------------------
 * The tracer: upwind advection and diffusion, and a slow reaction.
 */

static void transport_tracer(int n, real dt, real h, real diffusivity, real u[n + 2][n + 2],
                             real v[n + 2][n + 2], real c[n + 2][n + 2], real new_c[n + 2][n + 2]) {
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++) {
      real east = u[j][i] > 0.0 ? u[j][i] * c[j][i] : u[j][i] * c[j][i + 1];
      real west = u[j][i - 1] > 0.0 ? u[j][i - 1] * c[j][i - 1] : u[j][i - 1] * c[j][i];
      real north = v[j][i] > 0.0 ? v[j][i] * c[j][i] : v[j][i] * c[j + 1][i];
      real south = v[j - 1][i] > 0.0 ? v[j - 1][i] * c[j - 1][i] : v[j - 1][i] * c[j][i];
      real laplacian = (c[j][i + 1] + c[j][i - 1] + c[j + 1][i] + c[j - 1][i] - 4.0 * c[j][i])
                       / (h * h);
      real reaction = 0.01 * c[j][i] * (1.0 - c[j][i]);
      new_c[j][i] = c[j][i]
                    + dt * (diffusivity * laplacian - (east - west + north - south) / h + reaction);
    }
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++)
      c[j][i] = new_c[j][i];
}

/* ---------------------------------------------------------------------------------------------
 * Diagnostics.
 */

static real kinetic_energy(int n, real h, real u[n + 2][n + 2], real v[n + 2][n + 2]) {
  real energy = 0.0;
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++) {
      real center_u = 0.5 * (u[j][i - 1] + u[j][i]);
      real center_v = 0.5 * (v[j - 1][i] + v[j][i]);
      energy += 0.5 * (SQUARE(center_u) + SQUARE(center_v)) * h * h;
    }
  return energy;
}

static real largest_divergence(int n, real h, real u[n + 2][n + 2], real v[n + 2][n + 2]) {
  real worst = 0.0;
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++) {
      real divergence = fabs(u[j][i] - u[j][i - 1] + v[j][i] - v[j - 1][i]) / h;
      worst = divergence > worst ? divergence : worst;
    }
  return worst;
}

static real largest_speed(int n, real u[n + 2][n + 2], real v[n + 2][n + 2]) {
  real fastest = 0.0;
  for (int j = 0; j < n + 2; j++)
    for (int i = 0; i < n + 2; i++) {
      real speed = fabs(u[j][i]) + fabs(v[j][i]);
      fastest = speed > fastest ? speed : fastest;
    }
  return fastest;
}

static void compute_vorticity(int n, real h, real u[n + 2][n + 2], real v[n + 2][n + 2],
                              real w[n + 2][n + 2]) {
  for (int j = 1; j < n; j++)
    for (int i = 1; i < n; i++)
      w[j][i] = (v[j][i + 1] - v[j][i]) / h - (u[j + 1][i] - u[j][i]) / h;
}

static real mean_tracer(int n, real c[n + 2][n + 2]) {
  real total = 0.0;
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++)
      total += c[j][i];
  return total / ((real)n * n);
}

/* The stream function: the integral of u from the bottom of each column. */
static void compute_stream_function(int n, real h, real u[n + 2][n + 2], real psi[n + 2][n + 2]) {
  for (int i = 0; i <= n; i++)
    psi[0][i] = 0.0;
  for (int j = 1; j <= n; j++)
    for (int i = 0; i <= n; i++)
      psi[j][i] = psi[j - 1][i] + h * u[j][i];
}

static void print_profile(int n, const real *u, const real *v) {
  int width = n + 2;
  printf("%8s %14s %14s\n", "position", "u", "v");
  for (int k = 0; k < PROFILE_POINTS; k++) {
    int at = 1 + k * (n - 1) / (PROFILE_POINTS - 1);
    real along_y = u[at * width + n / 2], along_x = v[(n / 2) * width + at];
    printf("%8.4f %14.10f %14.10f\n", (at - 0.5) / n, along_y, along_x);
  }
}

static void print_center(int n, const real *psi) {
  int width = n + 2, best_i = 0, best_j = 0;
  real lowest = DBL_MAX;
  for (int j = 1; j <= n; j++)
    for (int i = 1; i <= n; i++)
      if (psi[j * width + i] < lowest) {
        lowest = psi[j * width + i];
        best_i = i;
        best_j = j;
      }
  printf("vortex at (%.4f, %.4f), stream function %.12f\n", best_i / (real)n, best_j / (real)n,
         lowest);
}

/* A checksum of all bits, so that two programs can be compared. */
static unsigned long checksum(int count, const real *field) {
  unsigned long hash = 1469598103934665603UL;
  for (int k = 0; k < count; k++) {
    unsigned long bits;
    memcpy(&bits, &field[k], sizeof bits);
    hash = (hash ^ bits) * 1099511628211UL;
  }
  return hash;
}

/* ---------------------------------------------------------------------------------------------
 * The program.
 */

struct fields {
  real *u, *v, *us, *vs, *p, *rhs, *c, *d, *w;
};

static struct fields allocate_fields(int n) {
  int size = n + GHOSTS;
  struct fields f;
  f.u = allocate(size, size);
  f.v = allocate(size, size);
  f.us = allocate(size, size);
  f.vs = allocate(size, size);
  f.p = allocate(size, size);
  f.rhs = allocate(size, size);
  f.c = allocate(size, size);
  f.d = allocate(size, size);
  f.w = allocate(size, size);
  return f;
}

static void free_fields(struct fields *f) {
  free(f->u);
  free(f->v);
  free(f->us);
  free(f->vs);
  free(f->p);
  free(f->rhs);
  free(f->c);
  free(f->d);
  free(f->w);
}

static real time_step(int n, const struct fields *f, real h, real nu) {
  real (*u)[n + 2] = (real (*)[n + 2])f->u, (*v)[n + 2] = (real (*)[n + 2])f->v;
  real fastest = largest_speed(n, u, v);
  real by_diffusion = 0.2 * h * h / nu, by_advection = 0.25 * h / (fastest + 1e-12);
  return by_diffusion < by_advection ? by_diffusion : by_advection;
}

static void advance(int n, struct fields *f, real dt, real h, real nu) {
  real (*u)[n + 2] = (real (*)[n + 2])f->u, (*v)[n + 2] = (real (*)[n + 2])f->v;
  real (*us)[n + 2] = (real (*)[n + 2])f->us, (*vs)[n + 2] = (real (*)[n + 2])f->vs;
  real (*p)[n + 2] = (real (*)[n + 2])f->p, (*rhs)[n + 2] = (real (*)[n + 2])f->rhs;
  real (*c)[n + 2] = (real (*)[n + 2])f->c, (*d)[n + 2] = (real (*)[n + 2])f->d;
  set_speed_boundaries(n, u, v, lid_speed);
  predict_u(n, dt, h, nu, 0.3, u, v, us);
  predict_v(n, dt, h, nu, 0.3, u, v, vs);
  copy_walls(n, u, v, us, vs);
  compute_source(n, dt, h, us, vs, rhs);
  solve_pressure(n, h, SWEEPS, p, rhs);
  correct_speeds(n, dt, h, us, vs, p, u, v);
  set_tracer_boundaries(n, c);
  transport_tracer(n, dt, h, nu / schmidt, u, v, c, d);
}

static void report(int step, int n, const struct fields *f, real time, real h) {
  real (*u)[n + 2] = (real (*)[n + 2])f->u, (*v)[n + 2] = (real (*)[n + 2])f->v;
  real (*p)[n + 2] = (real (*)[n + 2])f->p, (*rhs)[n + 2] = (real (*)[n + 2])f->rhs;
  real (*c)[n + 2] = (real (*)[n + 2])f->c;
  printf("%6d  t = %.6f  energy = %.12g  divergence = %.6g  residual = %.6g  tracer = %.12g\n",
         step, time, kinetic_energy(n, h, u, v), largest_divergence(n, h, u, v),
         pressure_residual(n, h, p, rhs), mean_tracer(n, c));
}

static int parse_number(const char *text, int least, int most) {
  char *end;
  long value = strtol(text, &end, 10);
  if (*end != '\0' || value < least || value > most)
    fail("expected a number of cells and a number of steps");
  return (int)value;
}

int main(int argc, char **argv) {
  if (argc > 1)
    cells = parse_number(argv[1], 4, MAX_CELLS);
  if (argc > 2)
    steps = parse_number(argv[2], 1, 1000000);
  if (argc > 3)
    reynolds = atof(argv[3]);
  int n = cells;
  real h = 1.0 / n, nu = lid_speed / reynolds, time = 0.0;
  struct fields f = allocate_fields(n);
  for (int step = 0; step < steps; step++) {
    real dt = time_step(n, &f, h, nu);
    advance(n, &f, dt, h, nu);
    time += dt;
    if ((step + 1) % (steps < 5 ? 1 : steps / 5) == 0)
      report(step + 1, n, &f, time, h);
  }
  compute_stream_function(n, h, (real (*)[n + 2])f.u, (real (*)[n + 2])f.w);
  print_center(n, f.w);
  compute_vorticity(n, h, (real (*)[n + 2])f.u, (real (*)[n + 2])f.v, (real (*)[n + 2])f.w);
  print_profile(n, f.u, f.v);
  printf("checksums %016lx %016lx %016lx\n", checksum((n + 2) * (n + 2), f.u),
         checksum((n + 2) * (n + 2), f.c), checksum((n + 2) * (n + 2), f.w));
  free_fields(&f);
  return 0;
}
