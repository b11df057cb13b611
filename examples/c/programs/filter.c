/*
 * Filters of grey images in the format PGM.
 *
 *   filter FILTER... [-o OUTPUT.pgm] [INPUT.pgm]
 *
 * The filters are blur, smooth, median, sharpen, edges, equalize, integral and rotate; they are applied
 * in their order.
 * Without an input, the program makes an image of 1920 by 1080 pixels. It prints a checksum of the
 * result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RADIUS 12
#define TAPS (2 * RADIUS + 1)
#define LEVELS 256
#define PI 3.14159265358979323846

typedef struct {
  int width, height;
  float *pixels;
} image;

static void fail(const char *message, const char *name) {
  fprintf(stderr, "filter: %s%s\n", message, name);
  exit(EXIT_FAILURE);
}

static float *allocate(int width, int height) {
  float *pixels = malloc(sizeof *pixels * (size_t)width * (size_t)height);
  if (pixels == NULL)
    fail("there is not enough memory", "");
  return pixels;
}

static image make_image(int width, int height) {
  image result = {width, height, allocate(width, height)};
  unsigned state = 12345;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      state = state * 1664525u + 1013904223u;
      double waves = sin(x * 0.013) * cos(y * 0.021) + 0.4 * sin((x + y) * 0.07);
      result.pixels[y * width + x] = (float)(127.0 + 80.0 * waves) + (float)(state >> 27);
    }
  return result;
}

static int read_number(FILE *file, const char *name) {
  int value, next = fgetc(file);
  while (next == '#' || next == ' ' || next == '\n' || next == '\t' || next == '\r') {
    if (next == '#')
      while (next != '\n' && next != EOF)
        next = fgetc(file);
    next = fgetc(file);
  }
  ungetc(next, file);
  if (fscanf(file, "%d", &value) != 1 || value < 1 || value > 1 << 16)
    fail("this is not a PGM file: ", name);
  return value;
}

static image read_image(const char *name) {
  FILE *file = fopen(name, "rb");
  char magic[3] = "";
  if (file == NULL)
    fail("cannot open ", name);
  if (fread(magic, 1, 2, file) != 2 || strcmp(magic, "P5") != 0)
    fail("this is not a PGM file: ", name);
  int width = read_number(file, name), height = read_number(file, name);
  read_number(file, name);
  fgetc(file);
  image result = {width, height, allocate(width, height)};
  for (long at = 0; at < (long)width * height; at++) {
    int value = fgetc(file);
    if (value == EOF)
      fail("the file is too short: ", name);
    result.pixels[at] = (float)value;
  }
  fclose(file);
  return result;
}

static void write_image(const char *name, const image *source) {
  FILE *file = fopen(name, "wb");
  if (file == NULL)
    fail("cannot write ", name);
  fprintf(file, "P5\n%d %d\n255\n", source->width, source->height);
  for (long at = 0; at < (long)source->width * source->height; at++) {
    float value = source->pixels[at];
    fputc(value < 0 ? 0 : value > 255 ? 255 : (int)(value + 0.5f), file);
  }
  fclose(file);
}

/* A Gaussian of the given radius whose weights add up to 1. */
static void make_gaussian(int radius, float *weights) {
  float total = 0.0f;
  for (int k = -radius; k <= radius; k++) {
    weights[k + radius] = expf(-(float)(k * k) / (0.3f * radius * radius));
    total += weights[k + radius];
  }
  for (int k = 0; k <= 2 * radius; k++)
    weights[k] /= total;
}

/* The convolution of each row with the weights; the border is copied. */
static void blur_rows(int height, int width, float out[height][width], float in[height][width],
                      float weights[TAPS]) {
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++)
      out[y][x] = in[y][x];
    for (int x = RADIUS; x < width - RADIUS; x++) {
      float total = 0.0f;
      for (int k = 0; k < TAPS; k++)
        total += weights[k] * in[y][x + k - RADIUS];
      out[y][x] = total;
    }
  }
}

static void blur_columns(int height, int width, float out[height][width],
                         float in[height][width], float weights[TAPS]) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      out[y][x] = in[y][x];
  for (int x = 0; x < width; x++)
    for (int y = RADIUS; y < height - RADIUS; y++) {
      float total = 0.0f;
      for (int k = 0; k < TAPS; k++)
        total += weights[k] * in[y + k - RADIUS][x];
      out[y][x] = total;
    }
}

static void blur(image *picture) {
  float weights[TAPS];
  float *other = allocate(picture->width, picture->height);
  int width = picture->width, height = picture->height;
  make_gaussian(RADIUS, weights);
  blur_rows(height, width, (float (*)[width])other,
            (float (*)[width])picture->pixels, weights);
  blur_columns(height, width, (float (*)[width])picture->pixels,
               (float (*)[width])other, weights);
  free(other);
}

/* The difference from a blurred image, added again. */
static void sharpen(image *picture) {
  image soft = {picture->width, picture->height, allocate(picture->width, picture->height)};
  long count = (long)picture->width * picture->height;
  memcpy(soft.pixels, picture->pixels, sizeof(float) * (size_t)count);
  blur(&soft);
  for (long at = 0; at < count; at++)
    picture->pixels[at] += 0.8f * (picture->pixels[at] - soft.pixels[at]);
  free(soft.pixels);
}

/* A recursive filter along the rows and the columns, forwards and backwards. */
static void smooth_pixels(int height, int width, float factor, float pixels[height][width]) {
  for (int y = 0; y < height; y++)
    for (int x = 1; x < width; x++)
      pixels[y][x] = factor * pixels[y][x - 1] + (1.0f - factor) * pixels[y][x];
  for (int y = 0; y < height; y++)
    for (int x = width - 2; x >= 0; x--)
      pixels[y][x] = factor * pixels[y][x + 1] + (1.0f - factor) * pixels[y][x];
  for (int x = 0; x < width; x++)
    for (int y = 1; y < height; y++)
      pixels[y][x] = factor * pixels[y - 1][x] + (1.0f - factor) * pixels[y][x];
  for (int x = 0; x < width; x++)
    for (int y = height - 2; y >= 0; y--)
      pixels[y][x] = factor * pixels[y + 1][x] + (1.0f - factor) * pixels[y][x];
}

/* The length of the gradient, by Sobel's operators. */
static void find_edges(int height, int width, float out[height][width], float in[height][width]) {
  for (int y = 1; y < height - 1; y++)
    for (int x = 1; x < width - 1; x++) {
      float across = in[y - 1][x + 1] + 2 * in[y][x + 1] + in[y + 1][x + 1]
                     - in[y - 1][x - 1] - 2 * in[y][x - 1] - in[y + 1][x - 1];
      float down = in[y + 1][x - 1] + 2 * in[y + 1][x] + in[y + 1][x + 1]
                   - in[y - 1][x - 1] - 2 * in[y - 1][x] - in[y - 1][x + 1];
      out[y][x] = sqrtf(across * across + down * down);
    }
}

static float smaller(float a, float b) { return a < b ? a : b; }
static float larger(float a, float b) { return a < b ? b : a; }

/* The median of each pixel and its four neighbours. */
static void find_medians(int height, int width, float out[height][width],
                         float in[height][width]) {
  for (int y = 1; y < height - 1; y++)
    for (int x = 1; x < width - 1; x++) {
      float a = in[y - 1][x], b = in[y][x - 1], c = in[y][x], d = in[y][x + 1], e = in[y + 1][x];
      float low = larger(smaller(a, b), smaller(d, e));
      float high = smaller(larger(a, b), larger(d, e));
      out[y][x] = larger(smaller(low, high), smaller(larger(low, high), c));
    }
}

/* The sums of all rectangles that begin in the corner, divided by their areas. */
static void integrate(int height, int width, double sums[height][width],
                      float pixels[height][width]) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      sums[y][x] = pixels[y][x];
  for (int y = 0; y < height; y++)
    for (int x = 1; x < width; x++)
      sums[y][x] += sums[y][x - 1];
  for (int x = 0; x < width; x++)
    for (int y = 1; y < height; y++)
      sums[y][x] += sums[y - 1][x];
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      pixels[y][x] = (float)(sums[y][x] / ((x + 1.0) * (y + 1.0)));
}

static void integral(image *picture) {
  int width = picture->width, height = picture->height;
  double *sums = malloc(sizeof *sums * (size_t)width * (size_t)height);
  if (sums == NULL)
    fail("there is not enough memory", "");
  integrate(height, width, (double (*)[width])sums, (float (*)[width])picture->pixels);
  free(sums);
}

static void replace_by(image *picture,
                       void (*filter)(int height, int width, float (*out)[], float (*in)[])) {
  float *result = allocate(picture->width, picture->height);
  size_t bytes = sizeof *result * (size_t)picture->width * (size_t)picture->height;
  memcpy(result, picture->pixels, bytes);
  filter(picture->height, picture->width, (float (*)[])result, (float (*)[])picture->pixels);
  free(picture->pixels);
  picture->pixels = result;
}

/* Spread the levels, so that each is equally frequent. */
static void equalize(image *picture) {
  long counts[LEVELS] = {0}, total = (long)picture->width * picture->height, sum = 0;
  float levels[LEVELS];
  for (long at = 0; at < total; at++) {
    int level = (int)picture->pixels[at];
    counts[level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level]++;
  }
  for (int level = 0; level < LEVELS; level++) {
    sum += counts[level];
    levels[level] = 255.0f * (float)sum / (float)total;
  }
  for (long at = 0; at < total; at++) {
    int level = (int)picture->pixels[at];
    picture->pixels[at] = levels[level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level];
  }
}

static void transpose(int height, int width, float out[width][height], float in[height][width]) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      out[x][y] = in[y][x];
}

static void rotate(image *picture) {
  int width = picture->width, height = picture->height;
  float *result = allocate(width, height);
  transpose(height, width, (float (*)[height])result, (float (*)[width])picture->pixels);
  free(picture->pixels);
  picture->pixels = result;
  picture->width = height;
  picture->height = width;
}

static int apply(const char *name, image *picture) {
  if (strcmp(name, "blur") == 0)
    blur(picture);
  else if (strcmp(name, "smooth") == 0)
    smooth_pixels(picture->height, picture->width, 0.6f, (float (*)[picture->width])picture->pixels);
  else if (strcmp(name, "sharpen") == 0)
    sharpen(picture);
  else if (strcmp(name, "edges") == 0)
    replace_by(picture, (void (*)(int, int, float (*)[], float (*)[]))find_edges);
  else if (strcmp(name, "median") == 0)
    replace_by(picture, (void (*)(int, int, float (*)[], float (*)[]))find_medians);
  else if (strcmp(name, "equalize") == 0)
    equalize(picture);
  else if (strcmp(name, "integral") == 0)
    integral(picture);
  else if (strcmp(name, "rotate") == 0)
    rotate(picture);
  else
    return 0;
  return 1;
}

int main(int argc, char **argv) {
  image picture = {0, 0, NULL};
  const char *output = NULL;
  for (int at = 1; at < argc; at++)
    if (strstr(argv[at], ".pgm") != NULL && strcmp(argv[at - 1], "-o") != 0)
      picture = read_image(argv[at]);
  if (picture.pixels == NULL)
    picture = make_image(1920, 1080);
  for (int at = 1; at < argc; at++)
    if (strcmp(argv[at], "-o") == 0 && at + 1 < argc)
      output = argv[++at];
    else if (strstr(argv[at], ".pgm") == NULL && !apply(argv[at], &picture))
      fail("there is no filter ", argv[at]);
  unsigned long hash = 14695981039346656037UL;
  for (long at = 0; at < (long)picture.width * picture.height; at++) {
    unsigned bits;
    memcpy(&bits, &picture.pixels[at], sizeof bits);
    hash = (hash ^ bits) * 1099511628211UL;
  }
  printf("%d x %d, checksum %016lx\n", picture.width, picture.height, hash);
  if (output != NULL)
    write_image(output, &picture);
  free(picture.pixels);
  return 0;
}
