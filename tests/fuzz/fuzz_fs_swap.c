/* Linux swap: see fsmod_target.h. */
#define FSMOD fsmod_swap
#include "tests/fuzz/fsmod_target.h"
