/* SPDX-License-Identifier: GPL-2.0 */
/* Observers of a CPU's buffer, see ring_buffer_observer.c. */
#ifndef _RING_BUFFER_OBSERVER_H
#define _RING_BUFFER_OBSERVER_H

#include <linux/poll.h>

struct ring_buffer_observer;
struct trace_buffer;
struct trace_live_position;

bool ring_buffer_observable(struct trace_buffer *buffer);
struct ring_buffer_observer *ring_buffer_observe(struct trace_buffer *buffer,
						 int cpu);
void ring_buffer_observer_free(struct ring_buffer_observer *observer);
unsigned long ring_buffer_observer_size(struct ring_buffer_observer *observer);
struct page *ring_buffer_observer_page(void *observer, unsigned long pgoff);
int ring_buffer_observer_seek(struct ring_buffer_observer *observer,
			      const struct trace_live_position *pos,
			      unsigned int percent);
__poll_t ring_buffer_observer_poll(struct ring_buffer_observer *observer,
				   struct file *filp, poll_table *poll_table);

#endif /* _RING_BUFFER_OBSERVER_H */
