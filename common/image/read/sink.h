/* sink.h: what becomes of the chunks of one image, or of any file: they are installed, kept in
 * a file (sink_file.c), put into a store, looked at and forgotten, passed on.
 *
 *	sink_to_...()	opens a sink; the header of the code that makes it declares it
 *	sink_info()	how it wants its chunks
 *	sink_begin()	how many there will be; again when that turns out to be wrong
 *	sink_has()	need this one not be put?
 *	sink_put()	a chunk, in any order if nothing else is said
 *	sink_end()	all that were needed have been put
 *	sink_close()	frees it; before sink_end(), what it has made is given up
 *
 * A chunk that is put was proved (struct proved, prove.h), or its decoding is its proof; a
 * sink may check it further.  A sink keeps a chunk's bytes without copying them, for as long
 * as it needs them.  Errors name what cannot be written, or the chunk.
 */
#ifndef COMMON_IMAGE_READ_SINK_H
#define COMMON_IMAGE_READ_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/blockmap.h"

/* How chunks are best put. */
struct sink_info {
	/* the sink takes all chunks, in the order of their numbers; sink_has() is always
	 * false */
	bool in_order;
	/* chunk 0 is put first, if possible: until it has arrived, the sink may keep what it
	 * gets, so one buffer must be left for chunk 0 */
	bool chunk0_first;
	bool has_some;     /* sink_has() is true of some chunks */
	bool takes_parts;  /* sink_compare() says which parts of a chunk are enough */
	bool decodes;      /* sink_decode() is possible */
};

/* What a sink tells its caller; NULL slots are not called.  The callbacks must not call the
 * sink. */
struct sink_giver {
	/* This chunk is needed after all, though sink_has() was true of it.  Told within
	 * sink_put(), before the chunk that led to it is released. */
	void (*wants)(void *arg, uint32_t chunk);
	/* Something has failed that only the next sink_put() would tell; from any
	 * thread.  sink_close() has the reason. */
	void (*failed)(void *arg);
	void *arg;
};

/* What a chunk still needs, of which some blocks have arrived. */
struct sink_part {
	struct blockmap need; /* the part is complete when these blocks are here */
	bool final;           /* `need` will not grow any more; else compare again */
	/* When final: for each fragment, whether the sink has it already; NULL: the whole
	 * chunk is needed.  sink_put() takes the array over; else sink_part_free() frees
	 * it. */
	bool *same;
	struct blockmap digested; /* with these blocks, the chunk's digest can be checked */
};

/* A chunk that is to be proved and put. */
struct sink_chunk {
	uint32_t number;
	uint32_t length; /* its bytes: 1 MiB, except at the end of a file */
	void *bytes;     /* the sink's, once it was put, until released() */
	/* A part of a chunk: what sink_compare() said last, final, and what is here of it.
	 * They stay until released().  NULL: the whole chunk is here. */
	struct sink_part *part;
	const struct blockmap *here;
	/* The bytes are not needed any more.  Called once, from any thread, at the latest
	 * by sink_end() or sink_close(). */
	void (*released)(void *arg, const void *bytes);
	void *arg;
};

/* What is left of the target, when not all was put. */
enum sink_left {
	SINK_LEFT_UNSAID,  /* the sink does not say it */
	SINK_LEFT_AS_WAS,  /* nothing was written */
	SINK_LEFT_NO_FILE, /* the file was removed */
	/* it is incomplete, and the same command... */
	SINK_LEFT_PART,   /* ... writes all of it anew */
	SINK_LEFT_SECTORS, /* ... with --skip-same writes only what lacks */
	SINK_LEFT_STATE,  /* ... goes on */
};

/* What was done. */
struct sink_sum {
	uint64_t bytes_written; /* data */
	uint64_t bytes_covered; /* with what needed not be written */
	enum sink_left left;    /* after a failure */
};

/* What a sink is made of; `self` is passed to each function.  A slot may be NULL: without
 * info() all of sink_info is false, without has() the sink has no chunk, without begin() the
 * sink tells its caller nothing, and without compare() it takes no parts.  close() of a sink
 * that was not ended gives up what the sink has made, and says in sum->left what is left; when
 * the sink itself had failed before, it fills in all of *sum, replaces *why, and returns true.
 * Neither sum nor why is NULL. */
struct proved;

/* Told from a thread of the sink: the chunk is decoded, or why it cannot be. */
typedef void sink_decoded_fn(void *arg, const struct err *why_or_null);

struct sink_ops {
	void (*info)(void *self, struct sink_info *);
	void (*begin)(void *self, uint32_t nchunks, const struct sink_giver *);
	bool (*has)(void *self, uint32_t chunk);
	int (*compare)(void *self, const void *bytes, const struct blockmap *here,
	    struct sink_part *, struct err *);
	bool (*decode)(void *self, struct proved *, sink_decoded_fn *, void *arg);
	int (*put)(void *self, struct proved *, struct err *);
	int (*end)(void *self, struct sink_sum *, struct err *);
	bool (*close)(void *self, struct sink_sum *, struct err *why);
};

struct sink {
	const struct sink_ops *ops;
	void *self;
};

/* From any thread. */
void sink_info(const struct sink *, struct sink_info *);
/* Called before the first sink_put(): the image has nchunks chunks (or
 * SOURCE_CHUNKS_UNKNOWN).  It is called again if the image turns out to be another
 * one and nothing has been put. giver is copied; NULL: there are no notifications,
 * and chunks come in the order of the image. */
void sink_begin(struct sink *, uint32_t nchunks, const struct sink_giver *);
/* True: this chunk need not be put, because the sink has it, or will ask for it by
 * sink_giver.wants.  Called before the first sink_put(). */
bool sink_has(const struct sink *, uint32_t chunk);
/* Which blocks of a chunk are needed besides those that are here in their places?  *part is
 * written over.  From any thread, until sink_end() or sink_close(). */
int sink_compare(struct sink *, const void *bytes, const struct blockmap *here,
    struct sink_part *, struct err *);
/* For a sink that decodes: begins to decode a chunk, of which no more is known; what was
 * decoded goes along with it, for sink_put() or proved_give_back(), of which one follows in
 * the same thread.  False: not now; it may be possible when another chunk was decoded or
 * put.  The bytes and the chunk stay the caller's meanwhile. */
bool sink_decode(struct sink *, struct proved *, sink_decoded_fn *, void *arg);
/* Puts a chunk, which is taken over; may wait until the sink can take it.  From one thread
 * at a time.  -1: the only call left is sink_close(); the chunk is released as always. */
int sink_put(struct sink *, struct proved *, struct err *);
/* All chunks were put.  Returns 0 only when all of them are where they belong.  *sum (NULL:
 * not wanted) is given either way.  sink_close() is still to be called. */
int sink_end(struct sink *, struct sink_sum *, struct err *);
/* Frees a sink.  When it was not ended, what it has made is given up: a new file is removed.
 * *why is the error because of which the caller closes the sink.  Returns true when the sink
 * itself had failed before that: *why then becomes the sink's own error, and *sum is given;
 * sum->left is given of each sink that was not ended (either may be NULL: not wanted).  A sink
 * that is all zeros, or NULL, is fine. */
bool sink_close(struct sink *, struct sink_sum *, struct err *why);

/* What is left, and, of a program that was told to end, how to go on: a sentence that may
 * follow "; ", or NULL. */
const char *sink_left_text(enum sink_left, bool told_to_end);
/* Add it to an error because of which not all was put. */
void sink_add_left(enum sink_left, struct err *);

/* Is the chunk a part that lacks bytes which its digest covers? */
bool sink_is_partial(const struct sink_chunk *);
/* Frees a part; one that is all zeros is fine. */
void sink_part_free(struct sink_part *);

/* A file, pipe or device that gets the chunks as they are: sink_file.c. */
struct sink_file_config {
	const char *path; /* "-": standard output; kept for as long as the sink */
	bool force;       /* also a disk that is in use */
	/* Room for so many bytes is taken at once, where the filesystem can; 0: as they come. */
	uint64_t room_bytes;
	/* Called with the function that removes a new file and says so, for a program that has
	 * to end at once, and with NULL when there is nothing to remove any more.  Or NULL. */
	void (*guard)(const char *(*tidy)(void *arg), void *arg);
	/* Called when this chunk is in the file, in the thread that puts.  Or NULL. */
	void (*written)(void *arg, uint32_t chunk);
	void *arg;
};

/* Makes the file, or empties it.  sink_end() flushes it and its folder; a file that did not
 * become whole is removed, and one that is whole stays, also when its folder could not be
 * flushed.  Errors as disk_open(); ERR_IO: there is no room; ERR_NOMEM. */
int sink_to_file(struct sink *, const struct sink_file_config *, struct err *);

#endif /* COMMON_IMAGE_READ_SINK_H */
