/* NTFS: see fsmod_target.h.  The library is run in this process, so that its crashes show. */
#define FSMOD fsmod_ntfs
#include "tests/fuzz/fsmod_target.h"

/* For LeakSanitizer: libntfs-3g forgets some of its memory when a volume is damaged.  Its
 * process ends with the scan. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libntfs-3g.so\n";
}
