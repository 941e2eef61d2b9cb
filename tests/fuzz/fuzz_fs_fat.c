/* FAT12, FAT16, FAT32: see fsmod_target.h. */
#define FSMOD fsmod_fat
#include "tests/fuzz/fsmod_target.h"
