#ifndef RISE_STDNORETURN_H
#define RISE_STDNORETURN_H
#define noreturn _Noreturn
#endif
