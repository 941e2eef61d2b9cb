/* log.h: the log of a daemon, one line for each event: to stderr with the time, or to
 * syslog.
 *
 * Lines end in key=value pairs.  errno is preserved.  Threads may log at once.
 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Open the log: `name` is the program's, and must stay; to_stderr: lines go there,
 * otherwise to syslog; lines of levels above `most` are left out.  Call it before other
 * threads log. */
void log_open(const char *name, bool to_stderr, enum log_level most);
/* Between log_hold() and log_release() no other thread's line goes to stderr.  The caller
 * must not log in between. */
void log_hold(void);
void log_release(void);
/* fn() is called before each line that goes to stderr, while the log is held as by
 * log_hold(), so that whatever else is drawn on the terminal can be erased first.  NULL:
 * nothing is called. */
void log_before_lines(void (*fn)(void));
/* Log one line; the format has no newline at its end. */
void log_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A warning for the person who started the program: it goes to stderr in any case. */
void log_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* COMMON_BASE_LOG_H */
