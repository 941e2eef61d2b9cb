/* UFS1 and UFS2: see fsmod_target.h. */
#define FSMOD fsmod_ffs
#include "tests/fuzz/fsmod_target.h"
