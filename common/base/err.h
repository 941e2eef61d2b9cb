/* err.h: an error value: a kind for the program, a sentence for the person.
 *
 * Functions that can fail return 0 or -1 (or a count or -1) and take a struct
 * err * last.  They fill it once, where the failure is known best; callers on
 * the way up put context in front; only main() or a daemon's loop prints it.
 */
#ifndef COMMON_BASE_ERR_H
#define COMMON_BASE_ERR_H

#include <stdbool.h>

enum err_kind {
	ERR_NONE,
	ERR_USAGE,       /* the command line is wrong, whatever it names */
	ERR_IO,          /* the system refused a read, write, open, ... */
	ERR_FORMAT,      /* input is damaged, not what it claims to be, or has a mistake */
	ERR_UNSUPPORTED, /* understood, but not handled here */
	ERR_REFUSED,     /* possible, but unsafe without being forced */
	ERR_NOMEM,
	ERR_CANCELLED, /* stopped by a signal or because another part failed */
	ERR_ABSENT,    /* what the command line names is not there */
};

struct err {
	enum err_kind kind;
	int os;         /* the errno that was the cause, or 0 */
	bool told;      /* a report has the sentence already (failure_told()) */
	bool misuse;    /* the command line has not the form that it must have */
	char text[512]; /* lower case, no full stop: "/dev/sda: short read" */
};

/* Fill *e and return -1, so that "return err_set(...)" reads as one step. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* err_set() for ERR_USAGE when options or operands are missing, too many or unknown.  The
 * program then also prints what the command line should look like. */
int err_misuse(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* err_set() for ERR_IO, with errno and its text appended.  Where a signal has ended the call, and
 * the work, it is what cancel_check() says. */
int err_os(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* ERR_NOMEM: there is no memory for `what`.  Returns -1. */
int err_nomem(struct err *e, const char *what);
/* Put context and ": " in front of the sentence: "sda1: superblock: bad magic".  Keeps the
 * kind, and returns -1. */
int err_ctx(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put "; " and more behind the sentence, such as what is left of the target.  When both do
 * not fit, the end of the sentence is cut.  Returns -1. */
int err_add(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The word for a kind, in JSON: "usage", "io", "damaged", "unsupported", "refused", "memory",
 * "interrupted" or "absent". */
const char *err_word(enum err_kind);
/* The kind that has this word; ERR_IO: none has, or it is NULL. */
enum err_kind err_kind_of(const char *word);

/* The exit status that every program documents: 2 for usage, 3 for wrong input, 1 for
 * everything else. */
int err_exit_status(const struct err *e);

#endif /* COMMON_BASE_ERR_H */
