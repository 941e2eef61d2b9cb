/* zlib_other.so: a zlib that compresses in another way, as one of another version may.
 *	LD_PRELOAD=zlib_other.so program...
 * Streams made with memLevel 8 come out as with 5. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

struct z_stream_s;
int deflateInit2_(struct z_stream_s *, int, int, int, int, int, const char *, int);

int
deflateInit2_(struct z_stream_s *z, int level, int method, int window, int memory,
    int strategy, const char *version, int bytes)
{
	static int (*real)(
	    struct z_stream_s *, int, int, int, int, int, const char *, int);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "deflateInit2_");
	return real == NULL ? -2
	                    : real(z, level, method, window, memory == 8 ? 5 : memory,
				  strategy, version, bytes);
}
