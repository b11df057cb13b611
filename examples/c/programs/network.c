/*
 * A neural network with one hidden layer, trained by gradient descent to tell in which of ten
 * regions of a space a point is.
 *
 *   network [EPOCHS] [HIDDEN]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS 64
#define CLASSES 10
#define BATCH 128
#define SAMPLES 2048
#define MAX_HIDDEN 1024

static unsigned long state = 88172645463325252UL;

/* Numbers between -1 and 1, by Marsaglia's generator. */
static double random_number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / 4503599627370496.0 - 1.0;
}

static double inputs[SAMPLES][INPUTS];
static int labels[SAMPLES];

/* Points around ten centers. */
static void make_samples(void) {
  static double centers[CLASSES][INPUTS];
  for (int c = 0; c < CLASSES; c++)
    for (int i = 0; i < INPUTS; i++)
      centers[c][i] = random_number();
  for (int s = 0; s < SAMPLES; s++) {
    labels[s] = s % CLASSES;
    for (int i = 0; i < INPUTS; i++)
      inputs[s][i] = centers[labels[s]][i] + 1.5 * random_number();
  }
}

/* y = x * w + b, for each row of x. */
static void forward(int rows, int n, int m, double x[rows][n], double w[n][m], double b[m],
                    double y[rows][m]) {
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < m; j++) {
      y[r][j] = b[j];
      for (int i = 0; i < n; i++)
        y[r][j] += x[r][i] * w[i][j];
    }
}

static void rectify(int rows, int m, double y[rows][m]) {
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < m; j++)
      y[r][j] = y[r][j] > 0.0 ? y[r][j] : 0.0;
}

/* The gradients of the logarithm of the likelihood; returns the loss. */
static double classify(int rows, int m, double y[rows][m], const int *wanted, double d[rows][m]) {
  double loss = 0.0;
  for (int r = 0; r < rows; r++) {
    double largest = y[r][0], total = 0.0;
    for (int j = 1; j < m; j++)
      if (y[r][j] > largest)
        largest = y[r][j];
    for (int j = 0; j < m; j++)
      total += exp(y[r][j] - largest);
    for (int j = 0; j < m; j++)
      d[r][j] = exp(y[r][j] - largest) / total / rows;
    d[r][wanted[r]] -= 1.0 / rows;
    loss -= (y[r][wanted[r]] - largest - log(total)) / rows;
  }
  return loss;
}

/* The gradients of the weights, and of the inputs. */
static void weight_gradients(int rows, int n, int m, double x[rows][n], double d[rows][m],
                             double dw[n][m], double db[m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      dw[i][j] = 0.0;
      for (int r = 0; r < rows; r++)
        dw[i][j] += x[r][i] * d[r][j];
    }
  for (int j = 0; j < m; j++) {
    db[j] = 0.0;
    for (int r = 0; r < rows; r++)
      db[j] += d[r][j];
  }
}

static void input_gradients(int rows, int n, int m, double w[n][m], double d[rows][m],
                            double y[rows][n], double dx[rows][n]) {
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) {
      dx[r][i] = 0.0;
      for (int j = 0; j < m; j++)
        dx[r][i] += d[r][j] * w[i][j];
      if (y[r][i] <= 0.0)
        dx[r][i] = 0.0;
    }
}

/* Descend, with momentum. */
static void update(int count, double rate, double *w, double *velocity, const double *gradient) {
  for (int k = 0; k < count; k++) {
    velocity[k] = 0.9 * velocity[k] - rate * gradient[k];
    w[k] += velocity[k];
  }
}

struct layer {
  int n, m;
  double *w, *b, *dw, *db, *vw, *vb;
};

static double *allocate(int count) {
  double *result = calloc((size_t)count, sizeof *result);
  if (result == NULL) {
    fprintf(stderr, "network: there is not enough memory\n");
    exit(EXIT_FAILURE);
  }
  return result;
}

static struct layer make_layer(int n, int m) {
  struct layer result = {n, m, allocate(n * m), allocate(m), allocate(n * m), allocate(m),
                         allocate(n * m), allocate(m)};
  for (int k = 0; k < n * m; k++)
    result.w[k] = random_number() * sqrt(2.0 / n);
  return result;
}

static void free_layer(struct layer *layer) {
  free(layer->w);
  free(layer->b);
  free(layer->dw);
  free(layer->db);
  free(layer->vw);
  free(layer->vb);
}

static void update_layer(struct layer *layer, double rate) {
  update(layer->n * layer->m, rate, layer->w, layer->vw, layer->dw);
  update(layer->m, rate, layer->b, layer->vb, layer->db);
}

static double train_batch(struct layer *first, struct layer *second, double *x, const int *wanted,
                          double *y, double *dy, double *out, double *dout) {
  int n = first->n, h = first->m, m = second->m;
  forward(BATCH, n, h, (double (*)[n])x, (double (*)[h])first->w, first->b, (double (*)[h])y);
  rectify(BATCH, h, (double (*)[h])y);
  forward(BATCH, h, m, (double (*)[h])y, (double (*)[m])second->w, second->b, (double (*)[m])out);
  double loss = classify(BATCH, m, (double (*)[m])out, wanted, (double (*)[m])dout);
  weight_gradients(BATCH, h, m, (double (*)[h])y, (double (*)[m])dout, (double (*)[m])second->dw,
                   second->db);
  input_gradients(BATCH, h, m, (double (*)[m])second->w, (double (*)[m])dout, (double (*)[h])y,
                  (double (*)[h])dy);
  weight_gradients(BATCH, n, h, (double (*)[n])x, (double (*)[h])dy, (double (*)[h])first->dw,
                   first->db);
  update_layer(first, 0.05);
  update_layer(second, 0.05);
  return loss;
}

static int count_right(struct layer *first, struct layer *second, double *y, double *out) {
  int n = first->n, h = first->m, m = second->m, right = 0;
  for (int start = 0; start < SAMPLES; start += BATCH) {
    forward(BATCH, n, h, &inputs[start], (double (*)[h])first->w, first->b, (double (*)[h])y);
    rectify(BATCH, h, (double (*)[h])y);
    forward(BATCH, h, m, (double (*)[h])y, (double (*)[m])second->w, second->b,
            (double (*)[m])out);
    for (int r = 0; r < BATCH; r++) {
      int best = 0;
      for (int j = 1; j < m; j++)
        if (out[r * m + j] > out[r * m + best])
          best = j;
      right += best == labels[start + r];
    }
  }
  return right;
}

int main(int argc, char **argv) {
  int epochs = argc > 1 ? atoi(argv[1]) : 3, hidden = argc > 2 ? atoi(argv[2]) : 256;
  if (epochs < 1 || hidden < 1 || hidden > MAX_HIDDEN) {
    fprintf(stderr, "network: expected a number of epochs, and at most %d hidden units\n",
            MAX_HIDDEN);
    return EXIT_FAILURE;
  }
  make_samples();
  struct layer first = make_layer(INPUTS, hidden), second = make_layer(hidden, CLASSES);
  double *y = allocate(BATCH * hidden), *dy = allocate(BATCH * hidden);
  double *out = allocate(BATCH * CLASSES), *dout = allocate(BATCH * CLASSES);
  for (int epoch = 0; epoch < epochs; epoch++) {
    double loss = 0.0;
    for (int start = 0; start < SAMPLES; start += BATCH)
      loss += train_batch(&first, &second, inputs[start], &labels[start], y, dy, out, dout);
    printf("epoch %d: loss %.15g, %d of %d right\n", epoch + 1, loss / (SAMPLES / BATCH),
           count_right(&first, &second, y, out), SAMPLES);
  }
  free_layer(&first);
  free_layer(&second);
  free(y);
  free(dy);
  free(out);
  free(dout);
  return 0;
}
