// SPDX-License-Identifier: GPL-2.0
/*
 * bench_event: fire the tracepoint bench:bench_event as often as is asked
 *
 * Two files in debugfs, in the folder bench_event:
 *
 * fire: write "COUNT SIZE" to fire COUNT events with SIZE bytes of payload,
 * one right after the other. The write returns when they are fired.
 *
 * rate: write "EVENTS MICROSECONDS TICKS SIZE" to fire EVENTS events each
 * MICROSECONDS from a timer interrupt of this CPU, TICKS times. The write
 * returns at once. Reading tells how many ticks are still to come.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#define CREATE_TRACE_POINTS
#include "bench_event_trace.h"

#define PAYLOAD_MAX	8192

static u8 payload[PAYLOAD_MAX];
static struct dentry *folder;

/* Guards the parameters below and the start of the timer. */
static DEFINE_MUTEX(rate_mutex);
static struct hrtimer rate_timer;
static ktime_t rate_period;
static unsigned int rate_events;
static unsigned int rate_size;
static unsigned int rate_ticks_left;

static void fire(unsigned int count, unsigned int size)
{
	while (count--)
		trace_bench_event(payload, size);
}

static ssize_t copy_line(char *line, size_t size, const char __user *from, size_t len)
{
	if (len >= size)
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	return len;
}

static ssize_t fire_write(struct file *file, const char __user *from, size_t len,
			  loff_t *pos)
{
	unsigned int count, size;
	char line[64];
	ssize_t ret;

	ret = copy_line(line, sizeof(line), from, len);
	if (ret < 0)
		return ret;
	if (sscanf(line, "%u %u", &count, &size) != 2 || size > sizeof(payload))
		return -EINVAL;

	fire(count, size);
	return len;
}

static const struct file_operations fire_fops = {
	.owner	= THIS_MODULE,
	.write	= fire_write,
};

static enum hrtimer_restart rate_tick(struct hrtimer *timer)
{
	unsigned int left = READ_ONCE(rate_ticks_left);

	if (!left)
		return HRTIMER_NORESTART;
	fire(rate_events, rate_size);
	WRITE_ONCE(rate_ticks_left, left - 1);
	if (left == 1)
		return HRTIMER_NORESTART;
	/* A tick that is late is not left out. */
	hrtimer_forward(timer, hrtimer_get_expires(timer), rate_period);
	return HRTIMER_RESTART;
}

static void rate_start(unsigned int events, unsigned int us, unsigned int ticks,
		       unsigned int size)
{
	hrtimer_cancel(&rate_timer);
	rate_events = events;
	rate_size = size;
	rate_period = ns_to_ktime((u64)us * NSEC_PER_USEC);
	WRITE_ONCE(rate_ticks_left, ticks);
	hrtimer_start(&rate_timer, rate_period, HRTIMER_MODE_REL_PINNED_HARD);
}

static ssize_t rate_write(struct file *file, const char __user *from, size_t len,
			  loff_t *pos)
{
	unsigned int events, us, ticks, size;
	char line[64];
	ssize_t ret;

	ret = copy_line(line, sizeof(line), from, len);
	if (ret < 0)
		return ret;
	if (sscanf(line, "%u %u %u %u", &events, &us, &ticks, &size) != 4 ||
	    !us || size > sizeof(payload))
		return -EINVAL;

	mutex_lock(&rate_mutex);
	rate_start(events, us, ticks, size);
	mutex_unlock(&rate_mutex);
	return len;
}

static ssize_t rate_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	char line[16];
	int n = scnprintf(line, sizeof(line), "%u\n", READ_ONCE(rate_ticks_left));

	return simple_read_from_buffer(to, len, pos, line, n);
}

static const struct file_operations rate_fops = {
	.owner	= THIS_MODULE,
	.read	= rate_read,
	.write	= rate_write,
};

static int __init bench_event_init(void)
{
	hrtimer_init(&rate_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	rate_timer.function = rate_tick;

	folder = debugfs_create_dir("bench_event", NULL);
	debugfs_create_file("fire", 0200, folder, NULL, &fire_fops);
	debugfs_create_file("rate", 0600, folder, NULL, &rate_fops);
	return 0;
}

static void __exit bench_event_exit(void)
{
	debugfs_remove(folder);
	hrtimer_cancel(&rate_timer);
}

module_init(bench_event_init);
module_exit(bench_event_exit);
MODULE_DESCRIPTION("Fire a tracepoint, for tools/harness/verbs/bench.sh");
MODULE_LICENSE("GPL");
