#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""perfetto_check.py TRACEMAP FILE...: what TRACEMAP report --perfetto writes of each FILE has
every event and loss that report --json prints, with the same time, CPU, process and fields."""

import fnmatch
import json
import os
import subprocess
import sys
import tempfile

# The numbers of Perfetto's messages: events with a message of their own, fields from 1 on
GENERIC = 327
MESSAGES = {
    3: "print ip buf", 4: "sched_switch prev_comm prev_pid prev_prio prev_state next_comm next_pid next_prio",
    11: "cpu_frequency state cpu_id", 13: "cpu_idle state cpu_id", 16: "clock_set_rate name state cpu_id",
    20: "sched_waking comm pid prio success target_cpu", 24: "softirq_entry vec", 25: "softirq_exit vec",
    36: "irq_handler_entry irq name", 37: "irq_handler_exit irq ret",
    235: "task_newtask pid comm clone_flags oom_score_adj", 236: "task_rename pid oldcomm newcomm oom_score_adj",
    240: "sched_process_free comm pid prio", 313: "rss_stat member size curr mm_id",
    329: "sys_enter* 1 2", 330: "sys_exit* 1 2",
    559: "local_timer_entry vector", 560: "local_timer_exit vector",
}


def expect(good, *what):
    if not good:
        raise ValueError(f"perfetto: {what}")


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data):
    """By number, the values of its fields: numbers, or bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7:
            expect(tag & 7 == 2 and at + value <= len(data), "wire", tag, value)
            value, at = data[at:at + value], at + value
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def generic(body):
    """The name of an event, and its fields: numbers, or text."""
    fields = {}
    for field in map(message, body.get(2, [])):
        values = {number: value[0] for number, value in field.items()}
        fields[values.pop(1).decode()] = values[3].decode() if 3 in values else values.get(4, values.get(5))
        expect(len(values) == 1, "a field", field)
    return body[1][0].decode(), fields


def numbers(value):
    return [number % 2 ** 64 for number in map(lambda one: int(one, 0) if isinstance(one, str) else one, value)]


def same(ours, told):
    """Whether the value of a field is that of the JSON."""
    if isinstance(ours, int):
        return [ours] == numbers([told])
    if isinstance(told, list):
        return [int(word, 16) for word in ours.split()] == \
            [number % 16 ** len(word) for word, number in zip(ours.split(), numbers(told))] and \
            len(ours.split()) == len(told)
    if isinstance(told, int) or told.startswith("0x") and ours != told:   # a mask of CPUs, as a number
        data = b"".join(bytes.fromhex(word)[::-1] for word in ours.split())
        return [int.from_bytes(data, "little")] == numbers([told])
    return ours == (told[:-1] if told.endswith("\n") else told).replace("\ufffd", "?")


def check_numbered(number, body, told):
    name, *names = MESSAGES[number].split()
    expect(fnmatch.fnmatch(told["event"], name), number, told)
    fields = told["fields"]
    if names[0] == "1":
        call, *rest = fields.values()
        if rest and isinstance(rest[0], list):
            rest = rest[0]
        return expect(body[1] == numbers([call]) and body.get(2, []) == numbers(rest), body, told)
    for at, field in enumerate(names, 1):
        expect((at in body) == (field in fields), body, told)
        value = body.get(at, [None])[0]
        expect(at not in body or same(value.decode() if isinstance(value, bytes) else value, fields[field]), body, told)


def check_event(event, told):
    ts, pid = event.pop(1)[0], event.pop(2)[0]
    expect(ts == told.get("ts") and len(event) == 1, event, told)
    (number, [body]), = event.items()
    body = message(body)
    if "lost" in told:
        count = {} if told["lost"] is None else {"count": told["lost"]}
        return expect(generic(body) == ("lost_events", {"cpu": told["cpu"], **count}), body, told)
    expect(pid == max(told.get("pid", 0), 0), pid, told)
    if number != GENERIC:
        return check_numbered(number, body, told)
    name, fields = generic(body)
    if "event" not in told:
        return expect(name == "unknown_event" and bytes.fromhex(fields["data"]).hex() == told["data"], fields, told)
    wanted = {field: value for field, value in told["fields"].items() if value is not None}
    if told["system"] == "ftrace":
        expect(same(fields.pop("text")[-len(told["text"]):], told["text"]), fields, told)
    expect(name == told["event"] and fields.keys() == wanted.keys(), name, fields, told)
    for field, value in wanted.items():
        expect(same(fields[field], value), field, fields, told)


def check_names(names, events):
    """Every process has a name that it had, if it is not named by switches."""
    switches, called = False, {}
    for told in events:
        switches |= told.get("event") == "sched_switch"
        if told.get("comm", "<...>") != "<...>" and told["pid"] > 0:
            called.setdefault(told["pid"], set()).add(told["comm"].replace("\ufffd", "?"))
    expect(switches or names.keys() == called.keys(), names, called)
    for pid, name in names.items():
        expect(name in called[pid] and not switches, pid, name)


def check(tracemap, path):
    """Raises ValueError. Returns what was written."""
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "written")
        text = subprocess.run([tracemap, "report", "--json", path], capture_output=True, check=False)
        run = subprocess.run([tracemap, "report", "--perfetto", written, path], capture_output=True, check=False)
        expect((run.returncode, run.stderr, run.stdout) == (text.returncode, text.stderr, b""), run.stderr)
        data = open(written, "rb").read()
    told, by_cpu, names = list(map(json.loads, text.stdout.splitlines())), {}, {}
    for line in told:
        by_cpu.setdefault(line["cpu"], []).append(line)
    expect(data[:1] == b"\n" and message(data).keys() == {1}, data[:10])
    for packet in map(message, message(data)[1]):
        for process in map(message, message(packet.get(2, [b""])[0]).get(1, [])):
            names[process[1][0]] = process[3][0].decode()
        if 1 not in packet:
            continue
        bundle = message(packet[1][0])
        cpu, events = bundle[1][0], list(map(message, bundle[2]))
        expect(bundle[3][0] == ("lost" in by_cpu[cpu][0]), "a loss", by_cpu[cpu][0])
        expect([event[1] for event in events] == sorted(event[1] for event in events), "times")
        for event in events:
            check_event(event, by_cpu[cpu].pop(0))
    expect(not any(by_cpu.values()), by_cpu)
    check_names(names, told)
    return data


if __name__ == "__main__":
    for name in sys.argv[2:]:
        check(sys.argv[1], name)
        print(f"ok - {name}")
