"""What the benchmarks of bench/run share: the images that they need, and the report of what was measured."""
import os, shutil, subprocess, tempfile

from measure import BIN, ROOTFS, RUNS, run

results = []


def report(name, ours, rival, rival_name, unit, higher_is_better=True, runs=RUNS):
    ratio = ours / rival if higher_is_better else rival / ours
    results.append(dict(name=name, ours=round(ours, 4), rival=round(rival, 4), rival_name=rival_name,
                        unit=unit, ratio=round(ratio, 4), runs=runs))
    print(f"{name:28} {ours:12.3f} {rival:12.3f} {unit:8} {ratio:7.3f}x  against {rival_name}", flush=True)


def allocated_bytes():
    out = subprocess.run(["dumpe2fs", "-h", ROOTFS], capture_output=True, text=True).stdout
    f = {k.strip(): v.strip() for k, v in (l.split(":", 1) for l in out.splitlines() if ":" in l)}
    return (int(f["Block count"]) - int(f["Free blocks"])) * int(f["Block size"])


class Files:
    """The images that several benchmarks need, made once, on tmpfs where there is room."""
    def __init__(self):
        shm = "/dev/shm"
        room = shutil.disk_usage(shm).free if os.path.isdir(shm) else 0
        self.dir = tempfile.mkdtemp(prefix="bench.", dir=shm if room > 9 << 30 else None)
        self.ndz, self.pc = self.dir + "/ours.ndz", self.dir + "/rival.pc.gz"
        self.out = self.dir + "/out"

    def room_for(self, targets):
        """May so many disks be written here, and 2 GB be left?"""
        with open("/proc/meminfo") as info:
            available = next(int(l.split()[1]) << 10 for l in info if l.startswith("MemAvailable"))
        return targets * allocated_bytes() + (2 << 30) < min(shutil.disk_usage(self.dir).free, available)

    def capture_ours(self, options=""):
        return f"{BIN}/imagezip -j2 {options} {ROOTFS} {self.ndz}"

    def capture_rival(self):
        return f"partclone.ext4 -q -c -F -L /dev/null -s {ROOTFS} -o - | pigz -4 -p2 > {self.pc}"

    def made(self, path, command):
        if not os.path.exists(path):
            run(command)
        return path

    def need(self):
        return self.made(self.ndz, self.capture_ours())

    def need_zstd(self):
        path = self.dir + "/zstd.ndz"
        return self.made(path, f"{BIN}/imagezip -q -j2 --codec=zstd:3 {ROOTFS} {path}")

    def need_large_disk(self):
        """A sparse disk of 2 TB: a partition with ROOTFS, and one with a filesystem in which nothing is."""
        path, first, second = self.dir + "/2tb.disk", 1 << 20, (4 << 30) + (2 << 20)
        table = f"label: gpt\\nstart={first >> 9}, size=4GiB\\nstart={second >> 9}\\n"
        kib = (2000 * 10 ** 9 - second >> 20) - 2 << 10
        return self.made(path, f"truncate -s {2000 * 10 ** 9 >> 20}M {path} && "
                         f"printf '{table}' | sfdisk -q {path} && "
                         f"dd if={ROOTFS} of={path} bs=1M seek=1 conv=sparse,notrunc status=none && "
                         f"mke2fs -q -F -t ext4 -E offset={second},nodiscard,lazy_itable_init=1 {path} {kib}k")

    def need_disk(self):
        path = self.dir + "/disk.zst"
        return self.made(path, f"zstd -q -3 -T2 {ROOTFS} -o {path}")

    def need_zst(self):
        path = self.dir + "/rival.pc.zst"
        return self.made(path, f"partclone.ext4 -q -c -F -L /dev/null -s {ROOTFS} -o - | zstd -q -3 -T2 > {path}")

    def need_rival(self):
        return self.made(self.pc, self.capture_rival())
