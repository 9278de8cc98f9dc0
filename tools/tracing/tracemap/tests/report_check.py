#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report_check.py TRACEMAP: what TRACEMAP report prints of files that are made here.
report_check.py TRACEMAP SECONDS: files cut and changed anywhere end no report by a signal."""

import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import perfetto_check

TRACEMAP = sys.argv[1]
PAGE = 4096
COMMON = """format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

"""
HEADER_PAGE = """	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:1;
"""
HEADER_EVENT = """# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
"""
MISSED = 1 << 31


def form(name, number, fields, text):
    lines = "".join(f"\tfield:{kind};\toffset:{at};\tsize:{size};\tsigned:0;\n"
                    for kind, at, size in fields)
    return f"name: {name}\nID: {number}\n{COMMON}{lines}\nprint fmt: {text}\n"


FTRACE = [
    form("kernel_stack", 4, [("int size", 8, 4), ("unsigned long caller[]", 16, 0)], '"x"'),
    form("user_stack", 13, [("unsigned int tgid", 8, 4), ("unsigned long caller[8]", 16, 64)], '"x"'),
    form("print", 5, [("unsigned long ip", 8, 8), ("char buf[]", 16, 0)],
         '"%ps: %s", (void *)REC->ip, REC->buf'),
    form("funcgraph_entry", 11, [("unsigned long func", 8, 8), ("int depth", 16, 4)],
         '"--> %ps (%d)", (void *)REC->func, REC->depth'),
    form("funcgraph_exit", 10, [("unsigned long func", 8, 8), ("unsigned long overrun", 16, 8),
         ("unsigned long long calltime", 24, 8), ("unsigned long long rettime", 32, 8),
         ("int depth", 40, 4)], '"<-- %ps (%d)", (void *)REC->func, REC->depth'),
]
OWN = [
    form("sw", 310, [("int x", 8, 4)], '"x=%d", REC->x'),
    form("load", 311, [("unsigned long busy", 8, 8), ("unsigned long total", 16, 8)],
         '"load=%lu", REC->total == 0 ? 0 : (100 * REC->busy) / REC->total'),
    form("raw", 312, [("u32 len", 8, 4), ("__data_loc u8[] buf", 12, 4)],
         '"%s", __print_hex(__get_dynamic_array(buf), REC->len)'),
]


def event(number, layout, *values):
    return struct.pack("<HBBi", number, 0, 0, 100) + struct.pack("<" + layout, *values)


def page(start, events, missed=False):
    """A page with events (ns since start, bytes)."""
    data, last = b"", 0
    for ts, body in events:
        body += b"\0" * (-len(body) % 4)
        data += struct.pack("<I", (ts - last) << 5 | len(body) // 4) + body
        last = ts
    commit = len(data) | (MISSED if missed else 0)
    return (struct.pack("<QQ", start, commit) + data).ljust(PAGE, b"\0")


def sized(text, size="<Q"):
    data = text.encode()
    return struct.pack(size, len(data)) + data


def begin(version):
    return b"\x17\x08\x44tracing" + version + b"\0" + struct.pack("<BBI", 0, 8, PAGE)


PARTS = [
    b"header_page\0" + sized(HEADER_PAGE) + b"header_event\0" + sized(HEADER_EVENT),
    struct.pack("<I", len(FTRACE)) + b"".join(sized(text) for text in FTRACE),
    struct.pack("<I", 1) + b"own\0" + struct.pack("<I", len(OWN)) + b"".join(sized(text) for text in OWN),
    sized("ffffffff81001000 T vfs_open\nffffffff81001010 T may_open\n"
          "ffffffff81001020 T may_close\n", "<I"),
    sized("", "<I"), sized("100 bash\n"),
]


def make(cpus):
    """A trace.dat of version 6 with the pages of each CPU."""
    head = begin(b"6") + b"".join(PARTS) + struct.pack("<I", len(cpus))
    head += b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    at = (len(head) + 16 * len(cpus) + PAGE - 1) // PAGE * PAGE
    table, data = b"", b""
    for pages in cpus:
        part = b"".join(pages)
        table += struct.pack("<QQ", at + len(data), len(part))
        data += part
    return (head + table).ljust(at, b"\0") + data


def packed(data):
    """A frame of zstd: a block of bytes as they are, and one that repeats the zeros behind."""
    front = data.rstrip(b"\0")
    blocks = b"".join((size << 3 | kind).to_bytes(3, "little") + content for size, kind, content in
                      ((len(front), 0, front), (len(data) - len(front), 3, b"\0")))
    return struct.pack("<IBI", 0xfd2fb528, 0xa0, len(data)) + blocks


def section(number, flags, data):
    return struct.pack("<HHIQ", number, flags, 0, len(data)) + data


def option(number, data):
    return struct.pack("<HI", number, len(data)) + data


def make_packed(pages, chunk=1):
    """The same of version 7, of one CPU, so many pages compressed together."""
    head, options = begin(b"7") + b"zstd\0" + b"1.5\0", b""
    place, head = len(head), head + bytes(8)
    for number, part in enumerate(PARTS, 16):
        options += option(number, struct.pack("<Q", len(head)))
        head += section(number, 0, part)
    chunks = [b"".join(pages[at:at + chunk]) for at in range(0, len(pages), chunk)]
    data = struct.pack("<I", len(chunks)) + b"".join(
        struct.pack("<II", len(packed(c)), len(c)) + packed(c) for c in chunks)
    buffer = struct.pack("<Q", len(head)) + b"\0local\0" + struct.pack(
        "<IIIQQ", PAGE, 1, 0, len(head) + 16, len(data))
    head += section(3, 1, data)
    options += option(8, struct.pack("<I", 1)) + option(3, buffer) + option(0, bytes(8))
    return head[:place] + struct.pack("<Q", len(head)) + head[place + 8:] + section(0, 0, options)


def report(data, *options):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return subprocess.run([TRACEMAP, "report", *options, file.name], capture_output=True,
                              timeout=60)


def expect(what, data, wanted, *options):
    run = report(data, "-q", *options)
    lines = [line for line in run.stdout.decode().splitlines()
             if not line.startswith("#") or "[" in line]
    good = not run.returncode and lines == wanted
    print(f"{'ok' if good else 'not ok'} - {what}")
    if not good:
        print(f"# status {run.returncode}", *run.stderr.decode().splitlines(), *lines, sep="\n# ")
    return good


def mark(text):
    return event(5, f"Q{len(text) + 2}s", 0xffffffff81001000, text + b"\n")


def expect_perfetto(what, data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            written, why = perfetto_check.check(TRACEMAP, file.name), ""
        except (ValueError, OSError) as error:
            written, why = b"", error
    print(f"{'not ok' if why else 'ok'} - {what} {why}")
    return written


def no_room():
    """A file takes no more than 50 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))


def expect_not_written(what, path, prepare, why):
    """Nothing is there that was not before."""
    folder = os.path.dirname(path)
    before = os.listdir(folder)
    run = subprocess.run([TRACEMAP, "report", "--perfetto", path, path + ".dat"],
                         capture_output=True, preexec_fn=prepare)
    good = run.returncode == 1 and why in run.stderr and os.listdir(folder) == before
    print(f"{'ok' if good else 'not ok'} - {what}", "" if good else run.stderr)
    return good


MARKS = [b"B|7|a", b"E|7", b"E", b"C|7|n|-3", b"I|7|i", b"S|7|a|1", b"G|7|t|a|1",
         b"plain", b"B|x|y", b"C|7|n|x", b"S|7|a", b"G|7|t|a", b"N|7|a", b"E7", b"", b"\xff|7|\xc3"]


def check_perfetto():
    written = [expect_perfetto(f"Perfetto has the events of file {number}", data)
               for number, data in enumerate((LOST, BACK, TREE, LIES, STACKS))]
    one = expect_perfetto("a marker", make([[page(S, [(1, mark(MARKS[0]))])]]))
    # What the file is on the wire: no system, a bundle of CPU 0 with a print, a process
    wire = bytes.fromhex("0a03ea0200 0a240a22 0800 1800 121c 088194ebdc03 1064 1a12 0880a08088f8ffffffff01") + \
        b"\x12\x05B|7|a" + bytes.fromhex("0a14 408194ebdc03 120c0a0a 0864 1a04") + b"bash" + b"\x48\x01"
    good = all(written) and one == wire
    print(f"{'ok' if one == wire else 'not ok'} - it is the same byte by byte", "" if one == wire else one.hex())
    marks = make([[page(S, [(1, mark(text)) for text in MARKS])]])
    parsed = perfetto_check.message(perfetto_check.message(expect_perfetto("marks of any form", marks))[1][1])
    events = list(map(perfetto_check.message, perfetto_check.message(parsed[1][0])[2]))
    taken = [3 in event for event in events] == [True] * 7 + [False] * (len(MARKS) - 7)
    print(f"{'ok' if taken else 'not ok'} - Perfetto gets as marks what it takes for marks")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pf")
        open(path + ".dat", "wb").write(LOST)
        good &= expect_not_written("without room no file is written", path, no_room, b"nothing was written")
        open(path, "wb").write(LOST)
        good &= expect_not_written("a file that is there stays", path, None, b"is not overwritten")
    return good and taken


def line(cpu, when, text):
    return f"            bash-100     [{cpu:03}] ..... {when:>12}: {text}"


def sw(x):
    return event(310, "i", x)


S = 1000000000
LOST = make([[page(S, [(1000, event(777, "i", 1)), (2000, sw(0))], missed=True)]])
BACK = make([[page(2 * S, [(0, sw(1))]), page(S, [(0, sw(2)), (1000, sw(3))])],
             [page(S + S // 2, [(0, sw(9))])]])
TREE = make([[page(S, [(1000, event(11, "Qi", 0xffffffff81001000, 0)),
                       (2000, event(11, "Qi", 0xffffffff81001010, 1)),
                       (3000, event(10, "QQQQi", 0xffffffff81001010, 0, 1000, 1500, 1)),
                       (4000, event(10, "QQQQi", 0xffffffff81001000, 0, 900, 3000, 0))])]])
OPEN, MAY = 0xffffffff81001000, 0xffffffff81001010
CUT_TREE = make([[page(S, [(0, event(11, "Qi", OPEN, 0))]),
                  page(S + 9000, [(0, event(10, "QQQQi", MAY, 0, 1000, 1500, 1))], missed=True)]])
STACKS = make([[page(S, [(0, sw(1)), (1, event(4, "i4xQQQ", 2, MAY + 4, OPEN + 4, 2 ** 64 - 1)),
                         (2, event(13, "I4x8Q", 100, 0x20, 0x10, 0, 0, 0, 0, 0, 0)),
                         (3, event(311, "QQ", 1, 1)), (4, event(4, "i4xQ", 1, OPEN)), (5, sw(2))])]])
LIES = make([[page(S, [(0, event(311, "QQ", 1, 0)), (1000, event(312, "II4s", 999, 4 << 16 | 16, b"abcd")),
                       (2000, sw(1))])]])
PAGES = [page(S + n, [(0, sw(n))]) for n in range(20000)]
PACKED = make_packed(PAGES[:20], 5)


def cost(data):
    """What is printed of it, if all is well, and how much CPU time that takes."""
    before = os.times()
    run = report(data, "--json", "-q")
    after = os.times()
    return run.returncode or run.stdout, after.children_user - before.children_user


def check_packed():
    """A file that is compressed is read as fast as one that is not; of a chunk that is damaged
    the events are missing, which is told, and those before and behind it are there."""
    plain, least = cost(make([PAGES]))
    again, time_packed = cost(make_packed(PAGES))
    good = again == plain and plain.count(b"\n") == len(PAGES) and time_packed < 2 * least + 0.1
    print(f"{'ok' if good else 'not ok'} - compressed: the same in {time_packed:.2f} s, not {least:.2f} s")
    at = PACKED.index(packed(b"".join(PAGES[5:10])))
    run = report(PACKED[:at] + b"none" + PACKED[at + 4:], "--json")
    numbers = [int(x) for x in re.findall(rb'"x":(\d+)', run.stdout)]
    told = run.returncode == 1 and b"its compressed data are damaged" in run.stderr
    told &= numbers == [*range(5), *range(10, 20)]
    print(f"{'ok' if told else 'not ok'} - damage in compressed data: {len(numbers)} events of 15")
    return good and told


def check():
    good = expect("events behind a loss and an event of an unknown format", LOST, [
        "CPU:0 [LOST EVENTS]", line(0, "1.000001", "unknown_event: id=777 data=01 00 00 00"),
        line(0, "1.000002", "sw: x=0")])
    good &= expect("time that goes back is marked", BACK, [
        line(1, "1.500000", "sw: x=9"), line(0, "2.000000", "sw: x=1"), "# CPU:0 [LATE]",
        line(0, "1.000000", "sw: x=2"), line(0, "1.000001", "sw: x=3")])
    good &= expect("calls and returns are a tree", TREE, [
        " 0)               |  vfs_open() {", " 0)   0.500 us    |    may_open();",
        " 0)   2.100 us    |  }"])
    good &= expect("time of functions themselves", TREE, ["bash;vfs_open 1600", "bash;vfs_open;may_open 500"], "--folded")
    good &= expect("behind a loss callers are not known", CUT_TREE, ["bash;[unknown];may_open 500"], "--folded")
    stacks = ["bash;0x10;0x20;vfs_open;may_open 1", "bash;vfs_open 1"]
    good &= expect("stacks of kernel and program are one line", STACKS, stacks, "--folded")
    good &= expect("an event that is asked for means its stack", STACKS, stacks[1:], "--folded", "-e", "load")
    good &= expect("records that lie end nothing", LIES, [
        line(0, "1.000000", "load: load=0"), line(0, "1.000001", "raw: 61 62 63 64 [DAMAGED]"),
        line(0, "1.000002", "sw: x=1")])
    run = report(LIES.replace(b"u8[] buf", b"u8[\3 buf"))
    survived = run.returncode == 2 and b"is damaged behind event 0" in run.stderr
    print(f"{'ok' if survived else 'not ok'} - what libtraceevent does not survive is told")
    return check_perfetto() and check_packed() and good and survived


def change(data):
    data = bytearray(data)
    for _ in range(random.randrange(1, 8)):
        at = random.randrange(len(data))
        data[at] = random.choice((0, 1, 0xff, 0x80, random.randrange(256)))
    if random.randrange(4) == 0:
        del data[random.randrange(len(data)):]
    return bytes(data)


def fuzz(seconds):
    end, seed, runs = time.time() + seconds, random.randrange(1 << 32), 0
    random.seed(seed)
    while time.time() < end:
        data = change(random.choice((LOST, BACK, TREE, CUT_TREE, STACKS, LIES, PACKED)))
        with tempfile.TemporaryDirectory() as folder:
            written = ["--perfetto", os.path.join(folder, "written")]
            run = report(data, *random.choice(([], ["--json"], ["--stats"], ["--folded"], written)))
        runs += 1
        if run.returncode < 0 or run.returncode > 3:
            with open("report-finding.dat", "wb") as file:
                file.write(data)
            print(f"not ok - status {run.returncode} of report-finding.dat, seed {seed}")
            print(run.stderr.decode(errors="replace")[-1000:])
            return False
    print(f"ok - {runs} files cut and changed anywhere, seed {seed}")
    return True


os.environ["LC_ALL"] = "C"
sys.exit(not (fuzz(float(sys.argv[2])) if len(sys.argv) > 2 else check()))
