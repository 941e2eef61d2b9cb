/* parts_impl.h: what parts.c and parts_search.c share. */
#ifndef IMAGEUNZIP_INSTALL_PARTS_IMPL_H
#define IMAGEUNZIP_INSTALL_PARTS_IMPL_H

#include "common/disk/claim.h"
#include "common/image/read/imgtable.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/parts.h"
#include "imageunzip/install/search.h"

/* INSTALL_SEARCH: what the chunks that are asked for are to show. */
enum part_phase {
	PART_WAITS, /* where the partitions are */
	PART_TAIL,  /* that nothing is stored behind the end of a smaller target */
	PART_HEAD,  /* how the partition begins, before anything else is installed */
	PART_ALL,   /* nothing: they are installed */
};

/* One partition. */
struct part {
	unsigned number;    /* of the image */
	uint64_t slice;     /* of the target */
	struct install *in; /* owned */
	struct claim claim;
	bool known;           /* where it is: */
	struct range sectors; /* of the image */
	uint64_t room;        /* sectors of the target's */
	uint64_t stored;      /* sectors, of the headers that were considered */
	/* INSTALL_SEARCH: */
	enum part_phase phase;
	struct search find;
	uint8_t *done; /* a bit for each chunk that has served the phase */
	bool takes;    /* the chunk that was learned from last */
};

struct parts {
	struct install_config cfg;
	enum install_source source;
	uint32_t nchunks;
	struct imgtable *table;
	bool known; /* where all are */
	bool delta;
	bool has_first;
	struct ext first; /* what chunk 0 says; owned */
	uint64_t passed_end; /* INSTALL_STREAM: sectors that went by */
	unsigned n;
	struct part part[ONLY_MAX];
	/* INSTALL_SEARCH: */
	struct range *spans; /* of each chunk; len 0: not known */
	uint8_t *asked;      /* a bit for each chunk that is to come */
	bool finding;        /* `find` looks for `sector` of the table */
	struct search find;
	uint64_t sector;
	uint32_t *wants; /* given out by install_wants(), the last first */
	size_t nwants, wants_cap;
};

/* parts.c: */
/* Where are the partitions, by what the table says now?  ERR_USAGE: one is not there.
 */
int parts_settle(struct parts *, struct err *);

/* parts_search.c: */
int parts_search_new(struct parts *, struct err *);
void parts_search_free(struct parts *);
/* A chunk was learned from: what is to be asked for now? */
int parts_search_learn(
    struct parts *, uint32_t number, const struct ndz_header *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_PARTS_IMPL_H */
