#ifndef RISE_STRING_H
#define RISE_STRING_H
#include <stddef.h>
void *memcpy(void *restrict, const void *restrict, size_t);
void *memset(void *, int, size_t);
#endif
