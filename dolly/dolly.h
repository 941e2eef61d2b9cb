/* dolly.h: options and commands of the program dolly. */
#ifndef DOLLY_DOLLY_H
#define DOLLY_DOLLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/plan/predict.h"

struct options {
	uint64_t image_bytes; /* plan: of the raw data; 0: not said */
	uint64_t clients;     /* plan: 0: all */
	const char *compression;
	const char *svg;
	bool force;
	bool json;
};

/* Commands: operands without the command's name; the exit status, or -1 with the error. */
int command_plan(const struct options *, char **operands, int n, struct err *);

/* The prediction, for people or as JSON, on standard output. */
int plan_print(const struct options *, const struct network *, const struct prediction *,
    struct err *);

#endif /* DOLLY_DOLLY_H */
