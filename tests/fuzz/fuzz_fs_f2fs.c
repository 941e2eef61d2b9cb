/* F2FS: see fsmod_target.h. */
#define FSMOD fsmod_f2fs
#include "tests/fuzz/fsmod_target.h"
