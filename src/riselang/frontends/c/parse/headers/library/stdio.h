#ifndef RISE_STDIO_H
#define RISE_STDIO_H
#include <stddef.h>
typedef struct rise_file FILE;
extern FILE *stdin, *stdout, *stderr;
int printf(const char *restrict, ...);
int fprintf(FILE *restrict, const char *restrict, ...);
#endif
