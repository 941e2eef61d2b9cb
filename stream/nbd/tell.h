/* tell.h: says something to the kernel by one of its files. */
#ifndef STREAM_NBD_TELL_H
#define STREAM_NBD_TELL_H

/* Write the text to this file, such as one below /proc or /sys, by one call, as the kernel wants it.
 * Nothing happens if the file is not there, or does not take it. */
void tell_kernel(const char *path, const char *text);

#endif /* STREAM_NBD_TELL_H */
