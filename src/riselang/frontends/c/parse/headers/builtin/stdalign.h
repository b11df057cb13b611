#ifndef RISE_STDALIGN_H
#define RISE_STDALIGN_H
#define alignas _Alignas
#define alignof _Alignof
#endif
