#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

static struct {
	const char *name;
	bool to_stderr;
	enum log_level most;
	void (*before)(void);
} sink = { "log", true, LOG_LEVEL_INFO, NULL };

void
log_open(const char *name, bool to_stderr, enum log_level most)
{
	sink.name = name;
	sink.to_stderr = to_stderr;
	sink.most = most;
	if (!to_stderr)
		openlog(name, LOG_PID, LOG_DAEMON);
}

void
log_before_lines(void (*fn)(void))
{
	sink.before = fn;
}

static void __attribute__((format(printf, 2, 0)))
log_line(enum log_level level, const char *fmt, va_list ap)
{
	static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
	int saved = errno;
	char line[1024];

	if (level <= sink.most) {
		vsnprintf(line, sizeof line, fmt, ap);
		if (sink.to_stderr) {
			flockfile(stderr);
			if (sink.before != NULL)
				sink.before();
			fprintf(stderr, "%s: %s\n", sink.name, line);
			funlockfile(stderr);
		} else {
			syslog(priority[level], "%s", line);
		}
	}
	errno = saved;
}

#define LOG_FUNCTION(func, level) \
	void func(const char *fmt, ...) \
	{ \
		va_list ap; \
		va_start(ap, fmt); \
		log_line(level, fmt, ap); \
		va_end(ap); \
	}

LOG_FUNCTION(log_err, LOG_LEVEL_ERR)
LOG_FUNCTION(log_warn, LOG_LEVEL_WARN)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
