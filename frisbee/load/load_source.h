/* load_source.h: an image that a server sends, as a source of chunks while it comes.
 *
 * A load writes the image's chunks, proved, into a file, from which they are read.  A chunk
 * that has not come yet is waited for, and asked for before all others.  A reader who needs
 * some blocks of a chunk gets them as soon as they come, before the chunk is complete and
 * proved; blocks that came because another reader waited for them are given in the same way. 
 * source_other() means that such blocks were damaged: the calling thread's next reads wait for
 * whole chunks.
 */
#ifndef FRISBEE_LOAD_LOAD_SOURCE_H
#define FRISBEE_LOAD_LOAD_SOURCE_H

#include "common/image/read/source.h"
#include "frisbee/load/load.h"

/* Begins the load.  The file is made, or emptied, with room for this many bytes (0: as
 * they come), and is removed by source_close().  Of the configuration, open, any_file,
 * keep_encrypted and all callbacks but `ended` are replaced by the source's own.  When
 * `ended` is called with 0, the file is complete; another name that is given to the
 * file then stays.  When nothing has come for reader_silence_us, reads of what is not
 * there fail with ERR_IO, and the load goes on: they succeed again when the server is
 * back.  0: they wait for ever.  After silence_us the load ends, and nothing more can
 * be read.  Errors are those of load_start(), and ERR_IO when there is no such room. */
int source_of_load(struct source *, const struct load_config *, const char *file,
    uint64_t bytes, struct err *);

#endif /* FRISBEE_LOAD_LOAD_SOURCE_H */
