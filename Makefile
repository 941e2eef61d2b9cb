# make [SAN=address,undefined | SAN=thread] [CC=clang] [V=1]
#
# Objects go to build/<variant>/, programs to build/bin/ (build/<variant>/bin/
# for instrumented builds).  A new .c file in a folder is found by itself.
comma   := ,
CC      ?= cc
SAN     ?=
PREFIX  ?= /usr/local
# Above -O1, instrumented code is hardly faster, and takes twice as long to compile.
CFLAGS  ?= $(if $(SAN),-O1 -g1,-O2 -g)
VERSION := $(shell cat VERSION)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wvla -Wformat=2 -Wundef -Wpointer-arith -Wwrite-strings
STD     := -std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -pthread \
           -DSUITE_VERSION='"$(VERSION)"'
SANFL   := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# Scripts start thousands of programs, so instrumented programs are linked to start soon: without
# libraries that they do not need (gcc leaves these out by itself only without a sanitizer), with
# the sanitizers' own libraries inside, as clang does, and, for the one of addresses, at a fixed
# place: else what describes each variable to it is relocated at each start.
SANLD   := $(if $(SAN),-Wl$(comma)--as-needed $(if $(findstring address,$(SAN)),-no-pie) $(if $(findstring clang,$(CC)),,$(if $(findstring address,$(SAN)),-static-libasan) \
           $(if $(findstring undefined,$(SAN)),-static-libubsan) $(if $(findstring thread,$(SAN)),-static-libtsan)))
VARIANT := $(if $(SAN),$(subst $(comma),-,$(SAN)),plain)
B       := build/$(VARIANT)
BIN     := $(if $(SAN),$(B)/bin,build/bin)
LIBDIR  := $(if $(SAN),$(B)/lib,build/lib)
# One set of objects, for programs and for plugins of other programs.
PIC     := -fPIC -fno-semantic-interposition
FLAGS    = $(STD) $(WARN) $(CPPFLAGS) $(CFLAGS) $(SANFL)
# What the controller, swapin and streamdisk need: as-needed keeps it out of all other programs.
FEW_NEED := -Wl,--push-state,--as-needed -lmicrohttpd -ljson-c -llzma -Wl,--pop-state
LIBS    := -lm -lexpat -lz -lssl -lcrypto -lsqlite3 -lext2fs -lcom_err -lntfs-3g -lseccomp -luuid -lblkid -luring $(FEW_NEED)

# LIBDEFLATE=none: zlib alone (vendor/libdeflate/README.md says why there is a copy).
LIBDEFLATE ?= vendored
ifeq ($(LIBDEFLATE),none)
STD     += -DNO_LIBDEFLATE
else
STD     += -isystem vendor/libdeflate
VENDORED := $(wildcard vendor/libdeflate/lib/*.c vendor/libdeflate/lib/x86/*.c vendor/libdeflate/lib/arm/*.c)
endif

# ISAL=none: without igzip and parity (docs/protocol-wire.md); ZSTD=none: without zstd.
# What is left out is refused by name.
ISAL ?= system
ZSTD ?= system
ifeq ($(ISAL),none)
STD     += -DNO_ISAL
else
LIBS    += -lisal
endif
ifeq ($(ZSTD),none)
STD     += -DNO_ZSTD
else
LIBS    += -lzstd
endif

PROGRAMS := imagezip imageunzip growfs imagedump imagehash imagedelta imagerezip imagekey frisbeed frisbee emustore dolly mfrisbeed streamdisk streamswitch dmextract dmmerge dsync controllerd swapin
# Rooms: the folders at the top are programs, those below them libraries; fsmods is all
# library.  Every library is in one archive, so tests use them without a command line.
ROOMS   := common fsmods imagezip imageunzip frisbee frisbeed emustore dolly mfrisbeed stream dsync controller
# Plugins are loaded into other programs, and call functions of these.
PLUGINS := nbdkit-ndz-plugin
PLUGIN_SRC := $(wildcard stream/plugin/*.c)
LIB_SRC := $(filter-out $(PLUGIN_SRC),$(sort $(shell find $(ROOMS) -mindepth 2 -name '*.c') $(wildcard fsmods/*.c)))
LIB     := $(B)/libsuite.a
UNITS   := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
PRELOADS := $(wildcard tests/preload/*.c)
FILTERS := $(patsubst tests/nbdkit/%.c,$(B)/tests/nbdkit/nbdkit-%-filter.so,$(wildcard tests/nbdkit/*.c))
# What all folders of scripts need.
JSON    := $(B)/tests/helpers/json
SAME    := $(B)/tests/helpers/same
HELPERS := $(patsubst tests/helpers/%.c,%,$(wildcard tests/helpers/*.c))
STUDIES := $(patsubst %.c,$(B)/%,$(wildcard bench/*.c)) $(patsubst bench/nbdkit/%.c,$(B)/bench/nbdkit/nbdkit-%-plugin.so,$(wildcard bench/nbdkit/*.c))
SIM     := $(if $(wildcard tests/sim/*.c),$(B)/tests/sim/sim)
HEADERS := $(shell find $(ROOMS) tools bench tests -name '*.h')

# A program's own files, in its room or in tools/.
ROOM_OF_streamdisk := stream
ROOM_OF_controllerd := controller
OWN      = $(or $(wildcard $(or $(ROOM_OF_$(1)),$(1))/*.c),$(wildcard tools/$(1)/*.c))
PROG_SRC = $(filter-out $(LIB_SRC),$(call OWN,$(1)))
BUILT   := $(PROGRAMS:%=$(BIN)/%) $(PLUGINS:%=$(LIBDIR)/%.so)

all: $(BUILT)

define program
$(BIN)/$(1): $(patsubst %.c,$(B)/%.o,$(call PROG_SRC,$(1))) $(LIB)
	@mkdir -p $$(@D)
	$$(call say,LD,$$@) $$(CC) $$(FLAGS) $$(SANLD) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

# This object contains the page.
$(B)/controller/http/page.o: $(wildcard controller/page/*)
# These objects contain those lists.
$(B)/stream/boot/drivers.o: netboot/modules
$(B)/controller/engine/smbios.o: netboot/server/placeholders
# streamswitch locks its memory, so it is linked only with the libraries that it needs.
$(BIN)/streamswitch: LDFLAGS += -Wl,--as-needed
# The plugin exports only what nbdkit looks up (plugin.syms).
$(LIBDIR)/nbdkit-ndz-plugin.so: $(PLUGIN_SRC:%.c=$(B)/%.o) stream/plugin/plugin.syms $(LIB)
	@mkdir -p $(@D)
	$(call say,LD,$@) $(CC) $(FLAGS) $(LDFLAGS) -shared -Wl,--as-needed -Wl,--version-script=stream/plugin/plugin.syms \
	  -o $@ $(filter %.o %.a,$^) $(LIBS)

$(LIB): $(LIB_SRC:%.c=$(B)/%.o) $(VENDORED:%.c=$(B)/%.o) Makefile
	$(call say,AR,$@) rm -f $@ && ar qcs $@ $(filter %.o,$^)
# Of libdeflate, what reads images is instrumented.  The compressor is not, since it takes
# most of the time of such programs (deflater_fragment() looks whether it may touch its
# buffers); nor is anything under SAN=thread: code is chosen by CPU once, through a plain
# pointer that all threads set to the same value.
VENDORED_SANFL = $(if $(findstring thread,$(SAN))$(filter %/deflate_compress.o,$@),,$(SANFL))
$(B)/vendor/%.o: vendor/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu17 -O3 $(if $(SAN),-g1,-g) -w -Ivendor/libdeflate $(VENDORED_SANFL) $(PIC) -c -o $@ $<
# Some processors round only once after a multiplication and an addition.  That is off here, so
# that the simulator's packets are the same on all processors.
EVEN := -ffp-contract=off
$(foreach d,tests/sim frisbeed/server frisbee/client,$(B)/$(d)/%.o): private ROUNDING = $(EVEN)
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(FLAGS) $(ROUNDING) $(PIC) -MMD -MP -c -o $@ $<
# Rewritten only when the flags differ, so a new CFLAGS rebuilds everything.  In that
# case it is also checked that the headers of all libraries are here.
LIBRARIES := zlib.h lzma.h openssl/evp.h openssl/ssl.h ext2fs/ext2fs.h ntfs-3g/volume.h seccomp.h uuid/uuid.h blkid/blkid.h liburing.h sqlite3.h curl/curl.h expat.h nbdkit-plugin.h libnbd.h microhttpd.h json-c/json.h \
             $(if $(filter none,$(ISAL)),,isa-l.h) $(if $(filter none,$(ZSTD)),,zstd.h)
$(B)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(FLAGS) $(PIC)' | cmp -s - $@ || { \
	  for h in $(LIBRARIES); do \
	    echo "#include <$$h>" | $(CC) $(STD) -E -x c - > /dev/null 2>&1 || \
	    { echo "make: <$$h> is not here: \`make deps' installs what is missing" >&2; exit 1; }; \
	  done; echo '$(CC) $(FLAGS) $(PIC)' > $@; }

# Tests.  tests/helpers/ holds small programs that scripts use.
$(B)/tests/unit/test_frisbee_options: $(B)/frisbee/options.o
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(LIB)
	$(call say,LD,$@) $(CC) $(FLAGS) $(SANLD) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS)
# Alone, a fuzz target mutates its corpus; with libFuzzer (make fuzz) it is guided.
LIBFUZZER := $(findstring fuzzer,$(SAN))
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(if $(LIBFUZZER),,$(B)/tests/fuzz/standalone.o) $(LIB)
	$(call say,LD,$@) $(CC) $(FLAGS) $(SANLD) $(LDFLAGS) $(if $(LIBFUZZER),-fsanitize=fuzzer) -o $@ $^ $(LIBS)
$(B)/bench/%: $(B)/bench/%.o $(LIB)
	$(call say,LD,$@) $(CC) $(FLAGS) $(SANLD) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/tests/helpers/%: $(B)/tests/helpers/%.o $(LIB)
	$(call say,LD,$@) $(CC) $(FLAGS) $(SANLD) $(LDFLAGS) -o $@ $^ $(LIBS)
# Scripts start these thousands of times, so they have the only library that they need, and are not
# instrumented.
$(JSON): private LIBS := -ljson-c
$(SAME): private LIBS :=
$(JSON) $(JSON).o $(SAME) $(SAME).o: private SANFL :=
# These libraries are loaded into programs from outside (LD_PRELOAD), so they do not have the programs' flags.
$(B)/tests/preload/%.so: tests/preload/%.c tests/random.h
	@mkdir -p $(@D)
	$(call say,LD,$@) $(CC) -std=gnu17 $(WARN) -O2 -g -fPIC -shared -o $@ $< -ldl
# Filters and these plugins become a part of nbdkit, so they do not have our flags either.
$(B)/bench/nbdkit/nbdkit-%-plugin.so: bench/nbdkit/%.c
	@mkdir -p $(@D)
	$(call say,LD,$@) $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -shared -o $@ $<
$(B)/tests/nbdkit/nbdkit-%-filter.so: tests/nbdkit/%.c tests/random.h
	@mkdir -p $(@D)
	$(call say,LD,$@) $(CC) -std=gnu17 $(WARN) -O2 -g -fPIC -shared -o $@ $<
# Every main() in one program, as PROGRAM_main(): what they refuse is tried without starting them.
define usage
$(B)/tests/usage/$(1).o: $(filter %/main.c,$(call PROG_SRC,$(1))) $(B)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$<) $$(CC) $$(FLAGS) $$(PIC) -Dmain=$(1)_main -Wno-missing-prototypes -MMD -MP -c -o $$@ $$<
endef
$(foreach p,$(PROGRAMS),$(eval $(call usage,$(p))))
$(B)/tests/usage/usage.o: private CPPFLAGS += -DPROGRAMS='$(patsubst %,P(%),$(PROGRAMS))'
$(B)/tests/usage/usage.o: Makefile
$(B)/tests/usage/usage: $(patsubst %.c,$(B)/%.o,$(wildcard tests/usage/*.c)) $(PROGRAMS:%=$(B)/tests/usage/%.o) \
    $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(foreach p,$(PROGRAMS),$(call PROG_SRC,$(p))))) $(LIB)
	$(call say,LD,$@) $(CC) $(FLAGS) $(SANLD) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/tests/sim/sim: $(patsubst %.c,$(B)/%.o,$(wildcard tests/sim/*.c)) $(LIB)
	$(call say,LD,$@) $(CC) $(FLAGS) $(SANLD) $(LDFLAGS) -o $@ $^ $(LIBS)

TESTBINS := $(UNITS:%=$(B)/tests/unit/%) $(FUZZERS:%=$(B)/tests/fuzz/%) $(HELPERS:%=$(B)/tests/helpers/%) \
	$(PRELOADS:%.c=$(B)/%.so) $(FILTERS) $(SIM) $(B)/tests/usage/usage $(STUDIES)
tests: all $(TESTBINS)
help:
	@echo "make               the programs, into build/bin (SAN=address,undefined or thread: instrumented, into build/VARIANT/bin)"
	@echo "make deps          install what is missing to build and test (Debian)"
	@echo "make check         every test; tests/run NAME... runs some, after make tests; CHOSEN=tests/chosen: of the scripts those and a tenth of the others"
	@echo "make check-vm      machines that boot from the network, load, capture and boot again (root, QEMU); MACHINES=\"path dsync\""
	@echo "make check-s3      stores in a bucket, with a real S3 server"
	@echo "make check-web     the controller's page in headless Chromium (root)"
	@echo "make pictures      docs/pictures anew, from such a run (root); those of docs/measured: make plots"
	@echo "make soak          COUNT=1000 sessions of the controller in a row, with everything that can go wrong in a lab (root)"
	@echo "make check-arch    on arm64 and s390x, which is big-endian, under QEMU; ARCHES=s390x"
	@echo "make check-long    hundreds of seeds and thousands of faults: a night; PARTS=neighbours SEEDS=23 FROM=1 (tests/long)"
	@echo "make mutants       whether the tests find the faults of tests/mutants, put in one by one; MUTANTS=\"a b\" or PART=2/6 (tests/mutants/run)"
	@echo "make house         how large each room is, and whether the rules of docs/architecture.md hold"
	@echo "make sim           the protocol in virtual time, with SEEDS=100 from FIRST=1 on, or only cases NAMED=ports"
	@echo "make fuzz          each fuzz target guided by coverage, SECONDS=60 each; fuzz-long: an hour in all, or MINUTES each; TARGETS=ext,chunk"
	@echo "make bench         against other programs, on a machine that does nothing else"
	@echo "make plots         the documents' tables and pictures of measured figures, from docs/measured"
	@echo "make measured      the files of docs/measured, and how many commits have changed the code of each since"
	@echo "make simulated     the simulator's tables in docs/, written anew; bench/simulated NAME prints one of them"
	@echo "make paper         the tables of the Frisbee paper; paper-store, paper-dolly, paper-dsync, paper-stream: those of EmuStore, Dolly, dsync and OS streaming"
	@echo "make demo          a network of four nodes on this machine, loaded"
	@echo "make netboot       kernel and ramdisk for machines that boot from the network; KEYS, HOOKS, FIRMWARE: netboot/README.md"
	@echo "make iso           a disc or USB stick with them and a menu; WORDS='frisbee.server=...' for all of its entries"
	@echo "make install       into DESTDIR and PREFIX (/usr/local); uninstall takes it away again"
	@echo "make deb           native packages of Debian, into build/deb"
	@echo "make check-deb     the packages of each of RELEASES=\"bookworm trixie\", made and tried in fresh systems (root)"
	@echo "make check-readme  make deb, make demo and make install in fresh systems of RELEASES (root)"
	@echo "make format        format all sources with clang-format; clean: remove what was built"
# How the house is laid out, and whether its rules hold.
house: all hdr-check
	@scripts/house $(B)
# Every header compiles alone.  That of a .c file which includes it first is tried with this file.
TRIED := $(shell find $(ROOMS) tools bench tests -name '*.c' | xargs awk \
	'/^\#include/ { f = FILENAME; sub(/c$$/, "h", f); if ($$2 == "\"" f "\"") print f; nextfile }')
hdr-check: $(patsubst %,$(B)/%.ok,$(filter-out $(TRIED),$(HEADERS)))
$(B)/%.h.ok: %.h
	@mkdir -p $(@D)
	$(call say,HDR,$<) echo '#include "$<"' | $(CC) $(STD) $(WARN) -Wno-unused-function -fsyntax-only -x c - && touch $@

deps:
	@scripts/deps
check: deps
	@$(MAKE) --no-print-directory tests $(if $(SAN),,hdr-check)
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) VARIANT=$(VARIANT) tests/run
# Whether the tests find faults that are put in; MUTANTS="a b", PART=2/6, BEFORE=COMMIT (tests/mutants/run).
mutants: deps
	@tests/mutants/run
demo:
	@scripts/deps build demo
	@scripts/demo --try
	@$(MAKE) --no-print-directory all $(JSON) $(SAME)
	@scripts/demo
# Kernel and ramdisk that load and capture the disks of machines booted from the network.
netboot:
	@scripts/deps build netboot
	@$(MAKE) --no-print-directory all
	@BIN=$(abspath $(BIN)) netboot/build
# A disc, also for a USB stick, with a menu: for machines that cannot boot from the network.
iso: netboot
	@scripts/deps iso
	@netboot/iso $(WORDS)
# The whole path in virtual machines, two tests at a time; needs root.  Console logs stay in build/vm/TEST/.
WITH_DEBIAN = $(if $(MACHINES),$(filter units fit fit_lvm newids streamlvm streamxfs,$(MACHINES)),units)
check-vm:
	@scripts/deps build netboot iso vm || echo "check-vm: going on with what is here" >&2
	@$(MAKE) --no-print-directory all $(JSON) $(SAME) $(FILTERS)
	@$(if $(WITH_DEBIAN),tests/vm/make-debian || echo "check-vm: going on without that Debian" >&2)
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) LOG=$(abspath $(B))/log-vm SCRIPTS=vm LIMIT=3000 JOBS=2 tests/run $(or $(MACHINES:%=vm/%),vm/)
# Stores in a bucket, with a real S3 server that is started for it on loopback.
check-s3:
	@scripts/deps build s3 || echo "check-s3: going on with what is here" >&2
	@command -v swift-proxy-server > /dev/null || { echo "check-s3: no S3 server to test with (OpenStack Swift: scripts/deps s3)" >&2; exit 1; }
	@$(MAKE) --no-print-directory all $(JSON) $(SAME)
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) LOG=$(abspath $(B))/log-s3 SCRIPTS=s3 LIMIT=2000 tests/run s3/
# The controller's page in a browser without a screen, while machines are loaded; needs root.  Pictures are left in build/web/.
check-web:
	@scripts/deps build check web || echo "check-web: going on with what is here" >&2
	@$(MAKE) --no-print-directory all $(JSON) $(SAME)
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) LOG=$(abspath $(B))/log-web SCRIPTS=web LIMIT=2000 JOBS=1 PICTURES=$(abspath build/web) tests/run $(or $(PAGES:%=web/%),web/)
# All pictures of docs/pictures, which the page's test takes of the programs as they are; needs root.
.PHONY: pictures
pictures: PAGES = page
pictures: check-web
	@cp $(patsubst docs/pictures/%,build/web/%,$(wildcard docs/pictures/*)) docs/pictures
# COUNT sessions of the controller in a row, with everything that can go wrong in a lab; needs root.
COUNT ?= 1000
soak:
	@scripts/deps build check || echo "soak: going on with what is here" >&2
	@$(MAKE) --no-print-directory all $(JSON) $(SAME)
	@COUNT=$(COUNT) BIN=$(abspath $(BIN)) B=$(abspath $(B)) LOG=$(abspath $(B))/log-soak SCRIPTS=soak LIMIT=86400 JOBS=1 tests/run soak/
# Unit, golden and wire tests as other processors run them, under QEMU's user mode emulation.
ARCHES ?= arm64 s390x
check-arch:
	@scripts/deps build arch
	@$(MAKE) --no-print-directory tests
	@rc=0; for a in $(ARCHES); do tests/arch/run $$a || rc=1; done; exit $$rc
# Not part of check: takes minutes, and a quiet machine.
bench:
	@scripts/deps build bench
	@$(MAKE) --no-print-directory all $(STUDIES) $(JSON) $(SAME)
	@bench/run
# Tables and pictures of the comparison with other programs, of stores and of dsync, from the figures that are committed;
# bench/compared NAME: from those of a run.
plots:
	@bench/compared
	@python3 -B bench/dsync_tables.py
# The files of figures, and whether what they measure has changed since.
measured:
	@bench/measured
# The figures of the EmuStore thesis with ours beside them, into build/paper-store.
paper-store:
	@scripts/deps build bench
	@$(MAKE) --no-print-directory all $(STUDIES) $(SIM)
	@bench/paper_store
# Table I, the examples and figures 10 and 11 of the Dolly paper with ours beside them, into build/paper-dolly.
paper-dolly:
	@scripts/deps build
	@$(MAKE) --no-print-directory all $(B)/tests/unit/test_dolly_sim
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) bench/paper_dolly
# The evaluation of the dsync paper with ours beside it, into build/paper-dsync; PAPER_GB=1: a smaller one; KEEP=yes: into docs/,
# too.
paper-dsync:
	@scripts/deps build bench
	@$(MAKE) --no-print-directory all
	@BIN=$(abspath $(BIN)) bench/paper_dsync
# What the trackers of a kernel, and ZFS, make a sync read, send and ask of the disks, in one machine, into build/paper-dsync-guest;
# GRAIN_MB=64: a smaller disk; KEEP=yes: into docs/, too.  ZFS is made once, as build/zfs.
paper-dsync-guest:
	@scripts/deps build bench vm
	@$(MAKE) --no-print-directory all $(B)/bench/replay
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) bench/paper_dsync_guest
# What each block size of a tracker makes a sync send, by counts, into build/dsync-grain; KEEP=yes: into docs/, too.
paper-dsync-grain:
	@scripts/deps build bench
	@bench/dsync_grain
# The evaluation of the paper on OS streaming with ours beside it, into build/paper-stream; FULL=1 takes an hour and a half.  The boots that
# it records of emulated machines stay there; KEEP=yes: tables into docs/, too.
# PARTS="table2 table3 figures" is what starts no machine, and takes about five minutes when its system was made.
paper-stream:
	@scripts/deps build bench
	@$(MAKE) --no-print-directory all $(STUDIES) $(SIM)
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) bench/paper_stream $(PARTS)
# The simulator with the seeds FIRST (1) to FIRST + SEEDS - 1; NAMED=ports: only the cases whose names hold this word.
SEEDS ?= 100
FIRST ?= 1
NAMED ?=
sim: $(SIM)
	@tests/sim/seeds $(SIM) $(SEEDS) $(FIRST) $(NAMED:%=--named %)
# The simulator's tables in docs/, written anew; make check compares some of their rows.
simulated:
	@$(MAKE) --no-print-directory $(TRAINED)
	@SIM=$(abspath $(TRAINED)) bench/simulated --write
# The evaluation of the Frisbee paper with ours beside it, into build/paper; FULL=1 takes hours.
paper:
	@scripts/deps build bench
	@$(MAKE) --no-print-directory all $(TRAINED)
	@SIM=$(abspath $(TRAINED)) bench/paper
# The simulator, compiled with profiles of its own runs if the compiler can (gcc): the same runs in two thirds of the time.
TRAINED := build/trained/sim
TRAIN    = $(CC) $(STD) $(EVEN) -O3 -flto=auto -w -o $@ \
           $(wildcard tests/sim/*.c frisbeed/server/*.c frisbee/client/*.c common/wire/*.c) $(LIB) $(LIBS)
$(TRAINED): $(SIM)
	@rm -rf $(@D); mkdir -p $(@D)
	$(call say,LD,$@) { $(TRAIN) -fprofile-generate && tests/sim/train $@ && $(TRAIN) -fprofile-use; } || cp $(SIM) $@
# What takes hours: all of it, or PARTS="neighbours fuzz"; seeds FROM on, SEEDS of them (tests/long).
PARTS ?=
FROM  ?=
SIMULATES = $(if $(PARTS),$(filter sim neighbours simulated,$(PARTS)),all)
check-long:
	@$(MAKE) --no-print-directory tests $(if $(SIMULATES),$(TRAINED))
	@BIN=$(abspath $(BIN)) B=$(abspath $(B)) SIM=$(abspath $(if $(SIMULATES),$(TRAINED),$(SIM))) tests/long $(FROM:%=--from %) $(if $(filter file,$(origin SEEDS)),,--seeds $(SEEDS)) $(PARTS)
# Guided by coverage: SECONDS (60) for each target, or MINUTES for each (an hour in all), of
# all or of TARGETS=ext,chunk,...; tests/fuzz/guided says what becomes of what is found.
SECONDS ?= 60
MINUTES ?=
TARGETS ?=
CLANG   ?= clang
FUZZ    := $(if $(TARGETS),$(patsubst %,fuzz_%,$(patsubst fuzz_%,%,$(subst $(comma), ,$(TARGETS)))),$(FUZZERS))
GUIDED  := SAN=fuzzer-no-link,address,undefined fuzz-run
fuzz:
	@scripts/deps build fuzz
	@$(MAKE) --no-print-directory CC="$(CLANG)" $(GUIDED) EACH=$(SECONDS)
fuzz-long:
	@scripts/deps build fuzz
	@$(MAKE) --no-print-directory CC="$(CLANG)" $(GUIDED) EACH=$$(($(if $(MINUTES),60 * $(MINUTES),3600 / $(words $(FUZZ)))))
fuzz-run: $(FUZZ:%=$(B)/tests/fuzz/%)
	@tests/fuzz/guided $(B)/tests/fuzz $(EACH) $(FUZZ)
# What administrators run, since it writes disks or serves them, goes to sbin; the rest to bin.
ADMIN   := imagezip imageunzip growfs frisbee frisbeed mfrisbeed streamswitch dmextract dmmerge dsync controllerd
USERS   := $(filter-out $(ADMIN),$(PROGRAMS))
# Units of systemd, whose programs are where PREFIX says, and the users of two of them.
UNITFILES := $(wildcard docs/examples/*.service docs/examples/*.timer)
UNITDIR := lib/systemd/system
SYSUSERS := lib/sysusers.d/frisbee-server.conf
DOCS    := LICENSE README.md SECURITY.md netboot/README.md docs/examples/dsync-copy $(wildcard docs/*.md docs/examples/*.net docs/measured/*.svg docs/pictures/*)
DOCDIR  := share/doc/frisbee-suite
COMPLETIONS := share/bash-completion/completions
# Where nbdkit looks for plugins, below PREFIX.
PLUGINDIR ?= lib/nbdkit/plugins
# What frisbee-netboot works with.
NETBOOT := VERSION scripts/deps $(filter-out netboot/README.md netboot/frisbee-netboot netboot/node netboot/server, \
           $(wildcard netboot/* netboot/node/* netboot/server/*))
NETBOOTDIR := share/frisbee-netboot
# Whatever `install' puts below PREFIX, by its name there.
INSTALLED = $(ADMIN:%=sbin/%) $(USERS:%=bin/%) $(PLUGINS:%=$(PLUGINDIR)/%.so) sbin/frisbee-netboot \
            $(NETBOOT:%=$(NETBOOTDIR)/%) $(UNITFILES:docs/examples/%=$(UNITDIR)/%) $(SYSUSERS) \
            $(patsubst man/%.1,share/man/man1/%.1,$(wildcard man/*.1)) \
            $(patsubst man/%.8,share/man/man8/%.8,$(wildcard man/*.8)) \
            $(PROGRAMS:%=$(COMPLETIONS)/%) $(DOCS:%=$(DOCDIR)/%)
TO      = $(DESTDIR)$(PREFIX)
install: all
	install -d $(sort $(addprefix $(TO)/,$(dir $(INSTALLED))))
# Earlier versions had these in sbin.
	rm -f $(USERS:%=$(TO)/sbin/%)
	install $(ADMIN:%=$(BIN)/%) $(TO)/sbin
	install $(USERS:%=$(BIN)/%) $(TO)/bin
	install $(PLUGINS:%=$(LIBDIR)/%.so) $(TO)/$(PLUGINDIR)
	install netboot/frisbee-netboot $(TO)/sbin
	for f in $(NETBOOT); do m=644; test -x $$f && m=755; install -m $$m $$f $(TO)/$(NETBOOTDIR)/$$f || exit 1; done
	for f in $(UNITFILES); do sed 's,/usr/local/,$(PREFIX)/,g' $$f | install -m 644 /dev/stdin $(TO)/$(UNITDIR)/$${f##*/} || exit 1; done
	install -m 644 docs/examples/frisbee-server.sysusers $(TO)/$(SYSUSERS)
	install -m 644 man/*.1 $(TO)/share/man/man1
	install -m 644 man/*.8 $(TO)/share/man/man8
	for d in $(DOCS); do install -m 644 $$d $(TO)/$(DOCDIR)/$$d || exit 1; done
	scripts/completion $(BIN) $(PROGRAMS) > $(B)/completion.bash
	for p in $(PROGRAMS); do install -m 644 $(B)/completion.bash $(TO)/$(COMPLETIONS)/$$p || exit 1; done
# Takes away what `install' has put there with the same DESTDIR and PREFIX, and the folder of the documents.
uninstall:
	rm -f $(addprefix $(TO)/,$(INSTALLED))
	rmdir $(addprefix $(TO)/$(DOCDIR)/,docs/examples docs/measured docs/pictures docs netboot '') \
	  $(addprefix $(TO)/$(NETBOOTDIR)/,netboot/node netboot/server netboot scripts '') 2> /dev/null; true
# One name a line, below PREFIX: tests/cli/packages.sh compares it with the lists of the packages.
list-installed:
	@printf '%s\n' $(INSTALLED)
list-programs:
	@echo $(PROGRAMS)
# Native packages of Debian, into build/deb.
deb:
	@scripts/deps build deb
	@scripts/deb
# Packages of each release, made, installed, used, upgraded and removed in a fresh system of that release; needs root.
RELEASES ?= bookworm trixie
check-deb:
	@scripts/deps build deb
	@for r in $(RELEASES); do scripts/check-deb $$r || exit 1; done
# What README.md says to type first, in a fresh system of a release; needs root.
check-readme:
	@scripts/deps deb
	@for r in $(RELEASES); do scripts/check-deb $$r readme || exit 1; done
format:
	clang-format -i $$(git ls-files '*.[ch]' | grep -v ^vendor/)
clean:
	rm -rf build
say = $(if $(V),,@printf '  %-4s %s\n' $(1) $(2);)
.PHONY: all help list-installed list-programs deb check-deb check-readme house sim simulated paper paper-store paper-dolly paper-dsync paper-dsync-grain paper-dsync-guest paper-stream tests deps check mutants check-long fuzz fuzz-long fuzz-run check-vm check-s3 check-web soak check-arch demo netboot iso bench plots measured install uninstall hdr-check format clean FORCE
.SECONDARY:
-include $(shell find build \( -path 'build/*/root' -o -path build/chroot -o -path build/mutants -o -path 'build/*/mnt' -o -path 'build/deb*' \) -prune -o -name '*.d' -print 2>/dev/null)
