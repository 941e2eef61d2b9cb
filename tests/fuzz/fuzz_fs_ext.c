/* ext2/3/4: see fsmod_target.h. */
#define FSMOD fsmod_ext
#include "tests/fuzz/fsmod_target.h"
