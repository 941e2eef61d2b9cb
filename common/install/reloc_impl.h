/* reloc_impl.h: the kinds of relocations, each in a file of its own. */
#ifndef COMMON_INSTALL_RELOC_IMPL_H
#define COMMON_INSTALL_RELOC_IMPL_H

#include "common/install/reloc.h"

int reloc_label(const struct ndz_reloc *, struct range slice, uint8_t *data, size_t n,
    struct err *);
int reloc_lilo(const struct ndz_reloc *, struct range slice, uint8_t *data, size_t n,
    struct err *);

#endif /* COMMON_INSTALL_RELOC_IMPL_H */
