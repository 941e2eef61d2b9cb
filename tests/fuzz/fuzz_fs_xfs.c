/* XFS: see fsmod_target.h. */
#define FSMOD fsmod_xfs
#include "tests/fuzz/fsmod_target.h"
