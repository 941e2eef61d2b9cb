/* log.c: writes the lines of a daemon's log to syslog or to stderr.  frisbeed and mfrisbeed
 * open the log in their first thread; the threads of sessions write lines, and a lock keeps
 * lines apart. */
#include "common/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>

#include "common/base/plain.h"
#include "common/base/say.h"

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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
log_hold(void)
{
	pthread_mutex_lock(&lock);
}

void
log_release(void)
{
	pthread_mutex_unlock(&lock);
}

void
log_before_lines(void (*fn)(void))
{
	log_hold();
	sink.before = fn;
	log_release();
}

enum { TIME_TEXT_MAX = 32 };

static const char *
local_time(char buf[TIME_TEXT_MAX])
{
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm) == NULL ||
	    strftime(buf, TIME_TEXT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		buf[0] = '\0';
	return buf;
}

static void __attribute__((format(printf, 2, 0)))
log_line(enum log_level level, const char *fmt, va_list ap)
{
	static const int priority[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
	int saved = errno;
	char line[1024], when[TIME_TEXT_MAX];

	if (level <= sink.most) {
		vsnprintf(line, sizeof line, fmt, ap);
		if (sink.to_stderr) {
			log_hold();
			if (sink.before != NULL)
				sink.before();
			say_text(stderr, "%s %s: %s\n", local_time(when), sink.name, line);
			log_release();
		} else {
			syslog(priority[level], "%s", plain_text(line));
		}
	}
	errno = saved;
}

void
log_tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_LEVEL_WARN, fmt, ap);
	va_end(ap);
	if (sink.to_stderr)
		return;
	char line[1024];
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	say_text(stderr, "%s: warning: %s\n", sink.name, line);
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
