"""What the five papers have published, in one place: the studies print it beside ours.

A figure is a number that also says its unit, where it stands, and its error of reading:
half of its last printed digit.  All of them come from the papers' tables and text.  Of
plots (figures 3, 4 and 5 of Frisbee; 2, 6, 7, 9 and 10 of dsync; 10 and 11 of Dolly; 5.1 to
5.11 of EmuStore) there is only what the text says in numbers: what this was made from has no
pictures.
"""


class Figure(float):
    def __new__(cls, printed, unit, where):
        self = super().__new__(cls, printed)
        decimals = len(printed.partition(".")[2])
        self.printed, self.unit, self.where = printed, unit, where
        self.error = 0.5 / 10 ** decimals
        return self


def published(figure):
    """What a figure says of itself, for results.json; a computed one says nothing."""
    return dict(paper_where=figure.where,
                paper_error=figure.error) if isinstance(figure, Figure) else {}


class Paper(dict):
    """Figures by their names: "table 3: small, at once: mean", or as text is named."""
    def table(self, name, columns, lines, where=None):
        """columns: the unit of each; `-' in a line: the paper has none."""
        for line in lines.strip().splitlines():
            label, *cells = (c.strip() for c in line.split("|"))
            assert len(cells) == len(columns), line
            for (column, unit), printed in zip(columns.items(), cells):
                if printed != "-":
                    figure = Figure(printed, unit, where or name)
                    self[f"{name}: {label}: {column}"] = figure

    def text(self, where, unit, lines):
        for line in lines.strip().splitlines():
            name, printed = (c.strip() for c in line.split("|"))
            self[name] = Figure(printed, unit, where)


# M. Hibler, L. Stoller, J. Lepreau, R. Ricci, C. Barb: Fast, Scalable Disk Imaging with
# Frisbee.  USENIX, 2003.
FRISBEE = Paper()
FRISBEE.table("table 1", {"size": "of the naive image", "time": "of the naive image's"},
              """
saved, large    | 0.31  | 0.39
""")
FRISBEE.table("table 2", {"null": "s", "disk": "s"}, """
large, 2 threads    | 65    | 86
large, 1 thread     | 65    | 145
""")
FRISBEE.table("table 3", {"mean": "s", "fastest": "s", "slowest": "s",
                          "messages": "messages", "sent again": "of what is sent"}, """
small, at once      | 33.6  | 32.9  | 34.7  | 2753  | 0.032
small, four groups  | 35.6  | 33.2  | 40.3  | 4561  | 0.46
small, uniform      | 40.0  | 34.5  | 51.0  | 7875  | 0.59
large, at once      | 100.2 | 100   | 101   | 12772 | 0.073
large, four groups  | 113.3 | 106   | 126   | 17266 | 0.26
large, uniform      | 132.4 | 120   | 147   | 23842 | 0.37
""")
# Clients are named as bench/paper's: slow are the pc600, fast the pc2000.
FRISBEE.table("table 4", {"slow": "s", "fast": "s", "messages": "messages",
                          "sent again": "of what is sent"}, """
70 Mbit/s, 0 slow and 4 fast    | -     | 94.3  | 895   | 0.000
70 Mbit/s, 1 slow and 3 fast    | 96.7  | 94.0  | 918   | 0.006
70 Mbit/s, 3 slow and 1 fast    | 95.9  | 93.9  | 885   | 0.002
70 Mbit/s, 4 slow and 0 fast    | 95.5  | -     | 877   | 0.002
90 Mbit/s, 0 slow and 4 fast    | -     | 72.3  | 667   | 0.001
90 Mbit/s, 1 slow and 3 fast    | 105.0 | 81.6  | 986   | 0.240
90 Mbit/s, 3 slow and 1 fast    | 106.7 | 93.7  | 1222  | 0.308
90 Mbit/s, 4 slow and 0 fast    | 106.5 | -     | 1186  | 0.287
""")
# "Not shown in the table": of how many fast ones, it does not say.
FRISBEE.table("table 4", {"slow": "s", "fast": "s", "messages": "messages",
                          "sent again": "of what is sent"}, """
90 Mbit/s, 8 slow and 1 fast    | 112   | 102   | -     | 0.35
""", "section 5.3, heterogeneous clients")
FRISBEE.table("table 5", {"server's time": "s", "data sent": "MB/s",
                          "CPU": "% of a processor"}, """
small, at once      | 34.7  | 5.36  | 9.9
small, four groups  | 55.1  | 6.02  | 12.0
small, uniform      | 65.7  | 6.67  | 12.3
large, at once      | 101.0 | 6.99  | 14.5
large, four groups  | 126.5 | 7.05  | 14.5
large, uniform      | 150.1 | 6.95  | 14.2
""")
FRISBEE.table("table 6", {"data sent": "MB/s", "CPU": "% of a processor"}, """
1   | 5.36  | 9.9
2   | 11.3  | 32.0
4   | 23.0  | 51.6
8   | 31.3  | 72.0
""")
FRISBEE.text("section 5.3, scaling", "s", """
figure 3: small, 1 client       | 33.8
figure 3: small, 80 clients     | 33.6
figure 3: large, 1 client       | 94
figure 3: large, 80 clients     | 102
""")
FRISBEE.text("section 5.3, scaling", "messages a second", """
figure 4: the peak      | 127
""")
FRISBEE.text("section 5.3, NAK avoidance", "messages a second", """
NACK avoidance: small, listening, 1 s       | 85
NACK avoidance: small, listening, 2 s       | 47
NACK avoidance: small, not listening, 1 s   | 264
NACK avoidance: large, listening, 1 s       | 146
NACK avoidance: large, listening, 2 s       | 84
NACK avoidance: large, not listening, 1 s   | 639
""")
FRISBEE.text("section 5.4", "s", """
section 5.4: a full load                        | 34
section 5.4: rsync by times and sizes           | 12
section 5.4: rsync that hashes all files        | 170
""")

# Raghuveer Pullakandam: EmuStore: Large Scale Disk Image Storage and Deployment in the
# Emulab Network Testbed.  Thesis, University of Utah, 2014.
EMUSTORE = Paper()
EMUSTORE.text("section 5.3", "of the image files", "5.3, at most | 0.33")
EMUSTORE.text("section 5.3.1", "times", "5.5, 8 KiB of 32 KiB, at most | 4")
EMUSTORE.text("section 5.3.2", "saved, of the image files", """
5.6, saved, least   | 0.70
5.6, saved, most    | 0.80
""")
EMUSTORE.text("section 5.4.2", "times", "5.8-5.10, store of file | 1.25")

# D. Clerc, L. Garces-Erice, S. Rooney: OS Streaming Deployment.  IBM Research Report
# RZ 3778, 2010.
STREAM = Paper()
STREAM.table("table 1", {"sectors": "% of the image"}, """
kernel and ramdisk  | 0.16
login               | 7.81
web                 | 8.22
mail                | 8.09
database            | 8.27
""")
STREAM.table("table 2", {"read": "sectors", "written": "sectors"}, """
mail        | 734       | 4740000
web         | 317000    | 425000
database    | 250000    | 1640000
""")
STREAM.table("table 3", {"disk": "MB/s", "streaming": "MB/s"}, """
32  | 112.42    | 49.28
16  | 129.65    | 70.64
8   | 138.26    | 95.62
4   | 113.72    | 100.69
""")

# F. Rauch, C. Kurmann, T. Stricker: Optimizing the Distribution of Large Data Sets in
# Theory and Practice.  Concurrency and Computation, 2002.  Table I's model has 5 nodes.
DOLLY = Paper()
DOLLY.table("table I", {f"{network}: {kind}": "MB/s"
                        for network in ("Fast Ethernet", "Gigabit Ethernet")
                        for kind in ("predicted", "measured")}, """
chain, raw          | 12.5  | 8.8   | 12.6  | 9.0
chain, compressed   | 3.9   | 4.9   | 3.9   | 6.1
tree=2, raw         | 6.3   | 5.4   | 9.3   | 8.2
tree=3, raw         | 4.2   | 3.8   | 7.4   | 8.0
star, raw           | 2.5   | 2.3   | 5.3   | 6.3
star, compressed    | 3.0   | 3.6   | 3.0   | 4.1
""")
DOLLY.text("section 2.4, figure 5", "MB/s", "two switches, eight clients | 7.5")
DOLLY.text("section 4", "MB/s", """
Pentium III, chain, raw, Gigabit Ethernet: predicted    | 25.4
Pentium III, chain, raw, Gigabit Ethernet: measured     | 26
""")
DOLLY.text("summary", "s", "2 GB onto 24 machines, less than | 300")
DOLLY.text("figure 10, the text below it", "s",
           "figure 10: star, raw, Fast Ethernet, 10 clients | 2500")

# T. Knauth, C. Fetzer: dsync: Efficient Block-wise Synchronization of Multi-Gigabyte
# Binary Data.  LISA, 2013.
DSYNC = Paper()
DSYNC.text("section 4.2, the text of figure 2, on hard disks", "s", """
random 10 %, 32 GiB: rsync      | 2000
random 10 %, 32 GiB: copy       | 400
random 10 %, 32 GiB: dsync      | 400
""")
DSYNC.text("the text of figure 9, on hard disks", "s", """
RUBiS, 11 GiB: rsync    | 320
RUBiS, 11 GiB: copy     | 200
RUBiS, 11 GiB: dsync    | 3
""")
DSYNC.text("the text of figure 5, from SSD to SSD", "MB/s", """
figure 5: copy      | 90
figure 5: dsync     | 17
""")
DSYNC.text("the text of figure 10, on hard disks", "s",
           "print server, 32 GiB: rsync | 900")
DSYNC.table("table 1", {"memory": "MiB"}, """
1   | 32
4   | 128
10  | 320
""")
DSYNC.table("table 2", {"time": "s", "sent": "MB"}, """
rsync       | 950   | 310
copy        | 385   | 32768
blockmd5    | 310   | 310
dsync       | 38    | 310
""")
DSYNC.text("summary", "times faster than rsync, up to", "two orders of magnitude | 100")
# Which of these stand beside a change of bench/paper_dsync, and how many GiB they are of.  Table 2 is
# of the print server, as the MB of its copy say.  Each of figure 9's 20 runs changed 659 to 3,813
# blocks, so a tenth of figure 8's 45,000 is the nearest to them.
DSYNC_CHANGES = {"the paper's change": ("RUBiS, 11 GiB: {}", 11),
                 "a tenth of it": ("RUBiS, 11 GiB: {}", 11),
                 "random 10 %": ("random 10 %, 32 GiB: {}", 32),
                 "print server": ("table 2: {}: time", 32)}


def of_dsync_paper(change, method):
    """The paper's seconds, over its link of 1 Gbit/s, and GiB; None: it has none.  Its dsync wrote
    in place, and its rsync did not."""
    name, gib = DSYNC_CHANGES.get(change, ("", None))
    method = {"hashes": "blockmd5"}.get(method, method.removesuffix("-in-place"))
    seconds = DSYNC.get(name.format(method))
    return dict(paper_seconds=seconds, paper_gib=gib if seconds else None)
