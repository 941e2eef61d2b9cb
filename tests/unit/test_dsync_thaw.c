/* A volume of which a snapshot is taken does not stay suspended: dmsetup is killed while it resumes the
 * volume, or the program while it is suspended.  A device of somebody else that has the name of the snapshot's stays.  A script stands in for
 * dmsetup. */
#include "dsync/run/thinsnap.h"

#include <sys/wait.h>

#include "tests/t.h"
#include "tests/unit/scratch.h"

static const char script[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\"\n"
    "case \"$1 $2\" in\n"
    "\"table volume\") echo 0 2048 thin 253:1 5 ;;\n"
    "\"table pool\") echo 0 4096 thin-pool /dev/meta /dev/data 128 0 ;;\n"
    "\"table slow\") echo 0 2048 thin 253:1 8 ;;\n"
    "\"table other\") echo 0 2048 thin 253:1 6 ;;\n"
    "\"table other-dsync\") echo 0 2048 thin 253:1 7 ;;\n"
    "table*) exit 1 ;;\n"
    "\"message pool\") case \"$4\" in \"delete 7\") : > deleted ;;\n"
    "    create_snap*8) : > asked; while [ -e wait ]; do sleep 0.05; done ;; esac ;;\n"
    "remove*) case \"$3\" in other-dsync) : > removed ;; esac ;;\n"
    "suspend*) : > suspended ;;\n"
    "resume*) [ -e killed ] || { : > killed; kill -KILL $$; }; rm suspended ;;\n"
    "create*) cat > shown ;;\n"
    "esac\n";

static void
put_script(void)
{
	char path[4096];
	FILE *f = fopen(in_scratch("dmsetup"), "w");

	T_CHECK(f != NULL && fputs(script, f) >= 0 && fclose(f) == 0 && sh("chmod 755 dmsetup") == 0);
	snprintf(path, sizeof path, "%s:%s", scratch_dir, getenv("PATH"));
	setenv("PATH", path, 1);
}

static bool
comes(const char *name, bool there)
{
	for (int i = 0; i < 1200; i++) {
		if ((access(in_scratch(name), F_OK) == 0) == there)
			return true;
		usleep(50000);
	}
	return false;
}

/* The program is killed while the pool makes the snapshot. */
static void
test_killed(void)
{
	struct thinsnap s;
	struct err e;

	T_CHECK(sh(": > wait") == 0);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		(void)!thinsnap_take(&s, "slow", "pool", "slow", &e);
		_exit(0);
	}
	T_CHECK(comes("asked", true) && access(in_scratch("suspended"), F_OK) == 0);
	T_CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	T_CHECK(comes("suspended", false));
	T_CHECK(sh("rm wait") == 0);
}

int
main(void)
{
	struct thinsnap s;
	struct err e;

	scratch_init();
	put_script();
	T_CHECK(thinsnap_take(&s, "volume", "pool", "volume", &e) == 0);
	T_CHECK(access(in_scratch("killed"), F_OK) == 0);
	T_CHECK(access(in_scratch("suspended"), F_OK) != 0);
	T_CHECK(s.taken && s.shown && access(in_scratch("shown"), F_OK) == 0);
	thinsnap_end(&s, false);

	/* dmsetup of the script lets another device have the name; the real one refuses it. */
	T_CHECK(thinsnap_take(&s, "other", "pool", "other", &e) == 0);
	T_CHECK(access(in_scratch("removed"), F_OK) != 0);
	T_CHECK(access(in_scratch("deleted"), F_OK) != 0);
	thinsnap_end(&s, false);

	test_killed();

	/* A name that leaves no room for what is put behind it. */
	char longest[MAPPED_WORD_BYTES], beside[MAPPED_WORD_BYTES];
	memset(longest, 'n', sizeof longest - 1);
	longest[sizeof longest - 6] = '\0';
	T_CHECK(mapper_beside(longest, "-dsync", beside, &e) != 0 && e.kind == ERR_UNSUPPORTED);
	longest[sizeof longest - 7] = '\0';
	T_CHECK(mapper_beside(longest, "-dsync", beside, &e) == 0);
	T_CHECK(strlen(beside) == sizeof beside - 1 && strcmp(beside + sizeof longest - 7, "-dsync") == 0);
	scratch_done();
	return t_done();
}
