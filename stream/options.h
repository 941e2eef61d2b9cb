/* options.h: what the user asked of streamdisk. */
#ifndef STREAM_OPTIONS_H
#define STREAM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cli/cli.h"
#include "common/image/format/opener.h"
#include "stream/attach/attach.h"
#include "stream/boot/boot.h"
#include "stream/sources/sources.h"

struct opts {
	struct sources_config sources; /* the first place is the operand */
	struct opener_config keys;
	struct attach_stream stream; /* its disk is an operand */
	const char *socket; /* of the NBD server; NULL: one is made */
	uint64_t partition; /* 0: the whole disk */
	uint64_t size_bytes, cache_bytes; /* 0: not given */
	const char *mount_options; /* of mount(8); NULL: none */
	/* bootimage: as in boot.h; NULL: not given */
	const char *drivers, *programs;
	struct boot_devices devices;
	bool boot; /* bootimage was asked for */
	bool suspended; /* as boot_make() has found */
	const char *append; /* boot: words for the kernel; NULL: none */
	bool read_only, file, quiet, json;
};

extern const struct cli_program streamdisk_program;

#endif /* STREAM_OPTIONS_H */
