/* NTFS: see fsmod_target.h. */
#define FSMOD fsmod_ntfs
#include "tests/fuzz/fsmod_target.h"
