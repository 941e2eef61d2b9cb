/* Any bytes as modules.dep and modules.builtin, and as the lists of names of devices: nothing is read
 * behind them, and what is chosen is among what there is.  The first byte says where the second list
 * begins.  The bytes behind it are also a module that may be compressed, and a list of which the endings
 * are taken. */
#include <assert.h>
#include <string.h>

#include "stream/boot/drivers.h"
#include "stream/boot/modules.h"
#include "stream/boot/unpack.h"

enum { MOST_BYTES = 1 << 20 };

/* A compressed module has no more bytes than it may, or is refused and stays as it is. */
static void
packed(const uint8_t *data, size_t len)
{
	struct buf b = { 0 };
	struct err e;

	buf_bytes(&b, data, len);
	if (unpack_module(&b, MOST_BYTES, "module", &e) != 0)
		assert(b.len == len && memcmp(b.base, data, len) == 0);
	else
		assert(b.len <= MOST_BYTES || b.len == len);
	assert(modules_plain((char *)b.base, b.len) <= b.len);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct modules m;
	struct err e;

	if (len == 0)
		return 0;
	packed(data + 1, len - 1);
	size_t cut = data[0] * (len - 1) / 255;
	struct buf dep = { .base = (uint8_t *)(uintptr_t)(data + 1), .len = cut };
	struct buf builtin = { .base = (uint8_t *)(uintptr_t)(data + 1 + cut),
		.len = len - 1 - cut };
	if (modules_read(&m, &dep, &builtin, &e) != 0) {
		assert(e.kind == ERR_FORMAT && m.list == NULL);
		return 0;
	}
	drivers_need(&m, "ext4", &e);
	drivers_all(&m);
	static const struct device d = { "eth0", "virtio_net", "virtio:d00000001v00001AF4" };
	if (drivers_for(&m, &d, &dep, &builtin, &e) != 0)
		assert(e.kind == ERR_UNSUPPORTED);
	assert(modules_chosen(&m) <= m.n);
	modules_free(&m);
	return 0;
}
