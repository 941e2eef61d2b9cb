/* LUKS: see fsmod_target.h. */
#define FSMOD fsmod_luks
#include "tests/fuzz/fsmod_target.h"
