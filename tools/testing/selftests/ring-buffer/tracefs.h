/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A trace instance to test with: its files, and events that can be counted.
 *
 * All functions return a negative errno when they fail.
 */
#ifndef SELFTEST_RING_BUFFER_TRACEFS_H
#define SELFTEST_RING_BUFFER_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TRACEFS_DIR	"/sys/kernel/tracing"
/* Of the event that writing to trace_marker is, below an instance. */
#define PRINT_TRIGGER	"events/ftrace/print/trigger"

/* Every event of these tests starts with this word, then its number. */
#define EVENT_TAG	0x72627473u

/* What is written to trace_marker_raw for one event. */
struct event_payload {
	uint32_t	tag;
	uint32_t	seq;
};

#define EVENT_SMALL	16
#define EVENT_LARGE	400

/* So many sub-buffers fit what the tests ask of buffer_size_kb. */
#define TEST_SUBBUFS	8

struct trace_instance {
	char		dir[64];
	bool		top;		/* the top level: reset, not removed */
	int		cpu;		/* where this process and its events are */
	int		other_cpu;
	int		marker;		/* trace_marker_raw, for writing */
	uint32_t	seq;		/* number of the next event */
	unsigned int	subbuf_kb;
	char		saved_size[32];	/* of the top level, to be restored */
};

/*
 * Sizes of sub-buffers are told as they are where pages are of 4 KiB: this is a
 * size of as many pages here, of a quarter of these if they are large and would be
 * more than eight, or the largest there is, if that is less.
 */
unsigned int scaled_kb(unsigned int kb);

/*
 * Makes a fresh instance, or the top level look like one, with sub-buffers of
 * @subbuf_kb, scaled (0: one page), and TEST_SUBBUFS of them per CPU. What is missing is
 * said on stderr.
 */
int instance_open(struct trace_instance *ti, bool top, unsigned int subbuf_kb);
int instance_close(struct trace_instance *ti);

/* Leaves an instance whose directory was removed by the test. */
void instance_forget(struct trace_instance *ti);

int instance_path(const struct trace_instance *ti, char *path, size_t size,
		  const char *file);
int instance_file(const struct trace_instance *ti, const char *file, int flags);
int instance_write(const struct trace_instance *ti, const char *file,
		   const char *text);
int instance_write_number(const struct trace_instance *ti, const char *file,
			  unsigned long long number);
ssize_t instance_read(const struct trace_instance *ti, const char *file,
		      char *text, size_t size);
long long instance_number(const struct trace_instance *ti, const char *file);

/* The same for files below per_cpu/cpuN. */
int cpu_file(const struct trace_instance *ti, int cpu, const char *file,
	     int flags);
int cpu_write(const struct trace_instance *ti, int cpu, const char *file,
	      const char *text);
int cpu_write_number(const struct trace_instance *ti, int cpu,
		     const char *file, unsigned long long number);
long long cpu_number(const struct trace_instance *ti, int cpu,
		     const char *file);

/* One line of per_cpu/cpuN/stats. */
long long cpu_stat(const struct trace_instance *ti, int cpu, const char *name);

/* Lines of a trace file of ours that show an event of write_events(). */
long count_trace_lines(const struct trace_instance *ti, const char *file);

/* Writes @count numbered events of @size bytes each. */
int write_events(struct trace_instance *ti, unsigned int count, size_t size);

/* Writes until @bytes of payload are written. Returns the number of events. */
long write_bytes(struct trace_instance *ti, size_t bytes, size_t size);

/* Writes more than twice what the buffer holds. */
long overflow_buffer(struct trace_instance *ti);

/* A child that writes @count events on the instance's CPU, then exits with 0. */
pid_t fork_writer(struct trace_instance *ti, unsigned int count, size_t size);

/* One that is refused while the buffer is reset or resized, and goes on for ever. */
pid_t fork_stubborn_writer(struct trace_instance *ti, size_t size);

/* As Linux 6.10 and later have, with the series or without: it answers some things otherwise. */
bool has_mainlines_mapping(void);

int run_on_cpu(int cpu);
int switch_cpu_online(int cpu, bool online);
int write_file(const char *path, const char *text);
ssize_t read_file(const char *path, char *text, size_t size);
/* A line of /proc/meminfo, as "MemFree", in KiB. */
long long memory_kb(const char *name);
long long monotonic_ns(void);
void sleep_ms(unsigned int ms);

/*
 * Waits for a child to end, for at most @ms. Returns its exit status, 128 +
 * the signal that killed it, or -EAGAIN when it is still running.
 */
int child_status(pid_t pid, unsigned int ms);
/* Waits for a child to sleep where a signal would wake it, for at most @ms. */
bool child_sleeps(pid_t pid, unsigned int ms);
/* ... where only one would that kills it. */
bool child_waits(pid_t pid, unsigned int ms);
/* How often @pid has gone to sleep; or a negative errno. */
long long sleeps_of(pid_t pid);
/* A child that lets nothing else run on @cpu, once it has written to @ready, until it is killed. */
pid_t fork_cpu_hog(int cpu, int ready);
/* -ESRCH: it had ended by itself. */
int kill_child(pid_t pid);

#endif /* SELFTEST_RING_BUFFER_TRACEFS_H */
