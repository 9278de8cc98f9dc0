/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What keeps the live index of a CPU's buffer up to date, and wakes its observers.
 *
 * This file is included in ring_buffer.c. The functions are in ring_buffer_live.c and
 * ring_buffer_observer.c.
 */
#ifndef _RING_BUFFER_LIVE_H
#define _RING_BUFFER_LIVE_H

struct ring_buffer_per_cpu;
struct buffer_page;
struct rb_live;

#ifdef CONFIG_RING_BUFFER_LIVE

/* The writer: the tail enters a page, the commit leaves one, an event has no room */
static void rb_live_enter(struct ring_buffer_per_cpu *cpu_buffer,
			  struct buffer_page *tail_page,
			  struct buffer_page *next_page);
static void rb_live_leave(struct ring_buffer_per_cpu *cpu_buffer,
			  struct buffer_page *page, struct buffer_page *next);
static void rb_live_dropped(struct ring_buffer_per_cpu *cpu_buffer);
/* The writer has found live_pending set behind a commit */
static void rb_live_wakeups(struct ring_buffer_per_cpu *cpu_buffer);

/* With reader_lock held: a reader has moved on, or has given its page away; a reset */
static void rb_live_reader_moved(struct ring_buffer_per_cpu *cpu_buffer);
static void rb_live_given_away(struct ring_buffer_per_cpu *cpu_buffer);
static void rb_live_reset_begin(struct ring_buffer_per_cpu *cpu_buffer);
static void rb_live_reset_end(struct ring_buffer_per_cpu *cpu_buffer);

/* The buffer was emptied, or its CPU has gone offline: sleepers may be due */
static void rb_live_look_soon(struct ring_buffer_per_cpu *cpu_buffer);

/* In a task: the buffer has got its sub-buffers, or is freed, and its index with it */
static void rb_live_renew(struct ring_buffer_per_cpu *cpu_buffer);
static void rb_live_free(struct rb_live *live);

#else

static inline void rb_live_enter(struct ring_buffer_per_cpu *cpu_buffer,
				 struct buffer_page *tail_page,
				 struct buffer_page *next_page) { }
static inline void rb_live_leave(struct ring_buffer_per_cpu *cpu_buffer,
				 struct buffer_page *page, struct buffer_page *next) { }
static inline void rb_live_dropped(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_wakeups(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_reader_moved(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_given_away(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_reset_begin(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_reset_end(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_renew(struct ring_buffer_per_cpu *cpu_buffer) { }
static inline void rb_live_free(struct rb_live *live) { }
static inline void rb_live_look_soon(struct ring_buffer_per_cpu *cpu_buffer) { }

#endif /* CONFIG_RING_BUFFER_LIVE */
#endif /* _RING_BUFFER_LIVE_H */
