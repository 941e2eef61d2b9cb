/* parts_impl.h: what parts.c and parts_search.c share. */
#ifndef IMAGEUNZIP_INSTALL_PARTS_IMPL_H
#define IMAGEUNZIP_INSTALL_PARTS_IMPL_H

#include "common/image/read/imgtable.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/parts.h"
#include "imageunzip/install/search.h"

/* INSTALL_SEARCH: the purpose of the chunks that are asked for. */
enum part_phase {
	PART_WAITS, /* to find out where the partitions are */
	PART_TAIL,  /* to show that nothing is stored behind a smaller target */
	PART_HEAD,  /* to begin the partition before its other chunks */
	PART_ALL,   /* to install them */
};

/* One partition. */
struct part {
	unsigned number;    /* of the image */
	uint64_t slice;     /* of the target */
	struct install *in; /* owned */
	bool known;           /* `sectors` are known */
	struct range sectors; /* of the image */
	uint64_t room;        /* sectors of the target's partition */
	uint64_t stored;      /* headers with sectors of it that install_consider() has seen */
	/* INSTALL_SEARCH: */
	enum part_phase phase;
	struct search find;
	uint8_t *done; /* a bit for each chunk that has served the phase */
	bool takes;    /* it takes the chunk that was learned from last */
};

struct parts {
	struct install_config cfg;
	enum install_source source;
	uint32_t nchunks;
	struct imgtable *table;
	bool known; /* where all partitions are */
	bool delta;
	bool has_first;
	struct ext first; /* what chunk 0 says; owned */
	uint64_t passed_end; /* INSTALL_STREAM: end of the chunks that went by, sectors */
	unsigned n;
	struct part part[ONLY_MAX];
	/* INSTALL_SEARCH: */
	struct range *spans; /* sectors of each chunk; len 0: not known */
	uint8_t *asked;      /* a bit for each chunk that is to come */
	bool finding;        /* `find` looks for `sector` of the table */
	struct search find;
	uint64_t sector;
	uint32_t *wants; /* given out by install_wants(), the last first */
	size_t nwants, wants_cap;
};

/* parts.c: */
/* Find the partitions, if the table is known far enough. ERR_USAGE: the image does not
 * have one of them. */
int parts_settle(struct parts *, struct err *);

/* parts_search.c: */
/* Make the search, before the first chunk (ERR_NOMEM), and free it. */
int parts_search_new(struct parts *, struct err *);
void parts_search_free(struct parts *);
/* Learn from the header of a chunk that came, and add the chunks to ask for now to
 * `wants`. ERR_FORMAT, ERR_REFUSED (what is stored does not fit), ERR_NOMEM. */
int parts_search_learn(
    struct parts *, uint32_t number, const struct ndz_header *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_PARTS_IMPL_H */
