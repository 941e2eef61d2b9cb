#!/usr/bin/env bash
# make install puts everything below PREFIX, where users and administrators find it; make uninstall takes exactly that away.
. "$(dirname "$0")/lib.sh"
requires make install
unset MAKEFLAGS MFLAGS MAKELEVEL
R=$T/root
# Not built again, and with whatever it was built.
suite() { quietly make -C "$TOP" --no-print-directory -o all "$1" DESTDIR="$R" PREFIX=/usr B="$B" BIN="$BIN" LIBDIR="$(dirname "$BIN")/lib"; }
mkdir -p "$R/usr/sbin" "$R/usr/share/man/man8"
echo other > "$R/usr/sbin/other"; echo other > "$R/usr/share/man/man8/other.8"
cp "$BIN/imagedump" "$R/usr/sbin/imagedump"	# as earlier versions have installed it
check "make install" suite install
for p in imagedump imagehash imagedelta imagerezip imagekey emustore dolly streamdisk; do
	check "users find $p" cmp "$BIN/$p" "$R/usr/bin/$p"
	check "once" [ ! -e "$R/usr/sbin/$p" ]
done
for p in imagezip imageunzip frisbee frisbeed mfrisbeed; do check "administrators find $p" cmp "$BIN/$p" "$R/usr/sbin/$p"; done
for p in "$TOP"/man/*; do check "$(basename "$p")" cmp "$p" "$R/usr/share/man/man${p##*.}/$(basename "$p")"; done
D=$R/usr/share/doc/frisbee-suite
for p in LICENSE README.md docs/filesystems.md docs/emulab.md docs/examples/dsync-copy docs/examples/patagonia.net; do check "$p" cmp "$TOP/$p" "$D/$p"; done
check "links between the documents lead somewhere" python3 - "$D" << 'PY'
import os, re, sys
missing = []
for top, _, names in os.walk(sys.argv[1]):
    for name in names:
        if not name.endswith(".md"): continue
        for link in re.findall(r"\]\(([^)#:]+)\)", open(os.path.join(top, name)).read()):
            if not os.path.exists(os.path.join(top, link)): missing.append(f"{name}: {link}")
print("\n".join(missing))
sys.exit(bool(missing))
PY
for u in frisbeed@ mfrisbeed controllerd dsync@ dsync-track@; do check "the unit $u runs what is installed" grep -q "^ExecStart=/usr/sbin/" "$R/usr/lib/systemd/system/$u.service"; done
check "no unit names a program that is elsewhere" [ -z "$(grep -h /usr/local/ "$R"/usr/lib/systemd/system/* | tee /dev/stderr)" ]
for u in mfrisbeed controllerd; do check "the user $u" grep -q "^u $u " "$R/usr/lib/sysusers.d/frisbee-server.conf"; done
check "network boot" quietly env OUT="$T/netboot" "$R/usr/sbin/frisbee-netboot" --version
status 1 env OUT="$T/netboot" "$R/usr/sbin/frisbee-netboot" setup lo "$T/served"
for p in $("$TOP/netboot/build" list-programs); do check "the system in memory gets $p" cmp "$BIN/$p" "$T/netboot/programs/bin/$p"; done
check "without a kernel, what makes it is named" grep -q "vmlinuz: frisbee-netboot build makes it" "$T/stderr"
check "an installed program runs" quietly "$R/usr/bin/imagedump" --version
check "completion" grep -q imagezip "$R/usr/share/bash-completion/completions/imagezip"
check "the plugin" [ -e "$R/usr/lib/nbdkit/plugins/nbdkit-ndz-plugin.so" ]
check "make uninstall" suite uninstall
check "what is others' stays, and nothing else" [ "$(cd "$R" && find . ! -type d | sort | tr '\n' ' ')" = "./usr/sbin/other ./usr/share/man/man8/other.8 " ]
check "nor the folder of the documents" [ ! -e "$D" ]
check "make uninstall, when nothing is there" suite uninstall
finish
