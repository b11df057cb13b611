#ifndef RISE_STDLIB_H
#define RISE_STDLIB_H
#include <stddef.h>
int abs(int);
long labs(long);
long long llabs(long long);
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
void exit(int);
#endif
