// SPDX-License-Identifier: GPL-2.0
/*
 * torture_event: events that interrupt each other, on every CPU
 *
 * A task, a tasklet, a timer interrupt and an NMI of each CPU fire the
 * tracepoint torture:torture_event, each with numbers of its own and payload
 * that can be checked. NMIs are sent from one CPU to the other, or to itself:
 * nothing of the kernel's code is patched. CPUs may come and go.
 *
 * Two files in debugfs, in the folder torture_event:
 *
 * run: takes a command. The first two and stop wait until nobody fires any more of
 * what went on; the first two begin with number 0.
 *
 *	start SEED WORDS DISCARD	everybody fires, payloads of up to WORDS words;
 *					DISCARD of 256 events are not to be kept
 *	single SEED WORDS		nobody fires unless told to:
 *	fire CONTEXT			one event, on the CPU of the caller; NR_CONTEXTS is
 *					a task that holds softirqs off
 *	stop				nobody fires; numbers stay
 *	snapshot [INSTANCE]		one taken in the kernel, of the top level if nothing is said
 *
 * counts: a line for each CPU: its number, and for each of task, softirq,
 * hardirq and NMI how many numbers were given out.
 *
 * With the parameter "race" the tasks have a data race: whether it is found
 * tells if others would be.
 */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kcsan-checks.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/trace.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <asm/apic.h>
#include <asm/nmi.h>

/* These are exported, but only kernel/trace has a header for the first. */
void tracing_snapshot_cond(struct trace_array *tr, void *cond_data);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define get_instance(name)	trace_array_get_by_name(name)
#else
#define get_instance(name)	trace_array_get_by_name(name, NULL)
#endif

enum { TASK, SOFTIRQ, HARDIRQ, NMI, NR_CONTEXTS };

#define WORDS_MAX	900

/* One context of one CPU: nobody else touches it while it runs. */
struct torture_writer {
	u32	next;
	u32	random;
	u8	cpu;
	u8	ctx;
};

struct torture_cpu {
	struct torture_writer	writers[NR_CONTEXTS];
	struct tasklet_struct	tasklet;
	struct hrtimer		timer;
	struct task_struct	*task;
	struct irq_work		work;
	atomic_t		nmi_sent;
	bool			active;		/* fires, and may be sent NMIs */
};

static DEFINE_PER_CPU(struct torture_cpu, torture_cpus);

static u32 torture_number(struct torture_writer *writer, bool keep)
{
	return keep ? writer->next++ : 0;
}

static u32 torture_mix(u32 sum, u32 word)
{
	return ((sum << 5 | sum >> 27) ^ word) * 0x9e3779b1;
}

static u32 torture_sum(const u32 *payload, unsigned int words, u32 seq, u8 cpu, u8 ctx)
{
	u32 sum = torture_mix(seq, cpu << 16 | ctx << 24 | words);
	unsigned int i;

	for (i = 0; i < words; i++)
		sum = torture_mix(sum, payload[i]);
	return sum;
}

static u32 torture_fill(u32 *payload, unsigned int words, u32 seq, u8 cpu, u8 ctx)
{
	unsigned int i;
	u32 word = seq ^ cpu << 30 ^ ctx << 28;

	for (i = 0; i < words; i++) {
		word = word * 1664525 + 1013904223;
		payload[i] = word;
	}
	return torture_sum(payload, words, seq, cpu, ctx);
}

#define CREATE_TRACE_POINTS
#include "torture_event_trace.h"

static bool race;
module_param(race, bool, 0444);
MODULE_PARM_DESC(race, "have a data race");

static struct dentry *folder;
static enum cpuhp_state hotplug_state;

/* Guards what follows, and is held while it is used by who comes from user space. */
static DEFINE_MUTEX(run_mutex);
static unsigned int run_words;
static unsigned int run_discard;
static unsigned int run_most;		/* events at a time */
static bool running;			/* changes with CPUs kept from coming and going */

/* What the data race is about. */
static unsigned long raced;

static noinline void race_with_others(void)
{
	int times;

	for (times = 0; times < 30; times++) {
		raced++;
		barrier();
	}
}

static u32 torture_random(struct torture_writer *writer)
{
	writer->random ^= writer->random << 13;
	writer->random ^= writer->random >> 17;
	writer->random ^= writer->random << 5;
	return writer->random;
}

/* Up to @most events, small ones more often. */
static void fire(struct torture_writer *writer, unsigned int most)
{
	unsigned int count = 1 + torture_random(writer) % min(most, run_most);

	while (count--) {
		u32 random = torture_random(writer);
		unsigned int words = random & 1 ? run_words : 24;

		words = (random >> 9) % (min(words, run_words) + 1);
		trace_torture_event(writer, words, (random >> 1 & 255) >= run_discard);
	}
}

/*
 * May the interrupted task be reporting a data race? It holds KCSAN's lock meanwhile, for
 * which an NMI that found a race, too, would wait for ever. An interrupt that reports one
 * needs no such look: NMIs share KCSAN's state with it, and are not checked then.
 */
static bool interrupted_a_report(void)
{
#ifdef CONFIG_KCSAN
	return current->kcsan_ctx.disable_count;
#else
	return false;
#endif
}

static int fire_nmi(unsigned int cmd, struct pt_regs *regs)
{
	struct torture_cpu *tc = this_cpu_ptr(&torture_cpus);
	bool unchecked = interrupted_a_report();
	int ret = NMI_DONE;

	if (unchecked)
		kcsan_disable_current();
	if (atomic_xchg(&tc->nmi_sent, 0)) {
		fire(&tc->writers[NMI], 3);
		ret = NMI_HANDLED;
	}
	if (unchecked)
		kcsan_enable_current();
	return ret;
}

/* A CPU that was active does not go before this is over. */
static void send_nmi_to(unsigned int cpu)
{
	struct torture_cpu *tc = &per_cpu(torture_cpus, cpu);

	preempt_disable();
	if (READ_ONCE(tc->active) && !atomic_xchg(&tc->nmi_sent, 1))
		apic->send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
	preempt_enable();
}

static void send_nmi(struct torture_writer *from)
{
	send_nmi_to(torture_random(from) % nr_cpu_ids);
}

static void fire_softirq(struct tasklet_struct *tasklet)
{
	struct torture_cpu *tc = container_of(tasklet, struct torture_cpu, tasklet);

	fire(&tc->writers[SOFTIRQ], 4);
}

/* However slow the machine is, at least as much time is left for the others. */
static enum hrtimer_restart fire_timer(struct hrtimer *timer)
{
	struct torture_cpu *tc = container_of(timer, struct torture_cpu, timer);
	struct torture_writer *writer = &tc->writers[HARDIRQ];
	ktime_t start = ktime_get();
	u32 random = torture_random(writer);
	u64 pause;

	if (!READ_ONCE(tc->active))
		return HRTIMER_NORESTART;
	if (random & 3)
		send_nmi(writer);
	fire(writer, 3);
	if (random & 12)
		tasklet_schedule(&tc->tasklet);

	pause = 20000 + (random >> 8) % 500000;
	pause += 3 * ktime_to_ns(ktime_sub(ktime_get(), start));
	hrtimer_set_expires(timer, ktime_add_ns(ktime_get(), pause));
	return HRTIMER_RESTART;
}

static void fire_work(struct irq_work *work)
{
	struct torture_cpu *tc = container_of(work, struct torture_cpu, work);

	fire(&tc->writers[HARDIRQ], 1);
}

static int fire_task(void *data)
{
	struct torture_cpu *tc = data;
	struct torture_writer *writer = &tc->writers[TASK];

	hrtimer_start(&tc->timer, ns_to_ktime(100000), HRTIMER_MODE_REL_PINNED_HARD);
	while (!kthread_should_stop()) {
		if (race)
			race_with_others();
		/* When its CPU goes, it is sent to another before it is stopped. */
		preempt_disable();
		if (smp_processor_id() == writer->cpu)
			fire(writer, 32);
		preempt_enable();
		if (!(torture_random(writer) & 7))
			send_nmi(writer);
		if (torture_random(writer) & 3)
			usleep_range(20, 2000);
		else
			cond_resched();
	}
	return 0;
}

static int start_cpu(unsigned int cpu)
{
	struct torture_cpu *tc = &per_cpu(torture_cpus, cpu);
	struct task_struct *task;

	/* One that was sent to a CPU that went never arrives. */
	atomic_set(&tc->nmi_sent, 0);
	task = kthread_create_on_cpu(fire_task, tc, cpu, "torture/%u");
	if (IS_ERR(task))
		return PTR_ERR(task);
	tc->task = task;
	WRITE_ONCE(tc->active, true);
	wake_up_process(task);
	return 0;
}

static void stop_cpu(unsigned int cpu)
{
	struct torture_cpu *tc = &per_cpu(torture_cpus, cpu);

	WRITE_ONCE(tc->active, false);
	if (tc->task)
		kthread_stop(tc->task);
	tc->task = NULL;
	hrtimer_cancel(&tc->timer);
	tasklet_kill(&tc->tasklet);
	irq_work_sync(&tc->work);
}

static int cpu_comes(unsigned int cpu)
{
	return running ? start_cpu(cpu) : 0;
}

static int cpu_goes(unsigned int cpu)
{
	stop_cpu(cpu);
	return 0;
}

static void stop(void)
{
	unsigned int cpu;

	cpus_read_lock();
	running = false;
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(torture_cpus, cpu).active, false);
	for_each_online_cpu(cpu)
		stop_cpu(cpu);
	/* Nobody sends any more; what was sent arrives. */
	for_each_online_cpu(cpu) {
		while (atomic_read(&per_cpu(torture_cpus, cpu).nmi_sent))
			usleep_range(100, 1000);
	}
	cpus_read_unlock();
	/* An NMI clears the mark before it fires: let it end. */
	synchronize_rcu();
}

static void prepare(unsigned int cpu, unsigned int seed)
{
	struct torture_cpu *tc = &per_cpu(torture_cpus, cpu);
	unsigned int ctx;

	for (ctx = 0; ctx < NR_CONTEXTS; ctx++) {
		struct torture_writer *writer = &tc->writers[ctx];

		writer->next = 0;
		writer->cpu = cpu;
		writer->ctx = ctx;
		writer->random = (seed + cpu * NR_CONTEXTS + ctx) * 2654435761u | 1;
	}
}

static int start(unsigned int seed, unsigned int words, unsigned int discard)
{
	unsigned int cpu;
	int ret = 0;

	for_each_possible_cpu(cpu)
		prepare(cpu, seed);
	run_words = words;
	run_discard = discard;
	run_most = UINT_MAX;

	cpus_read_lock();
	running = true;
	for_each_online_cpu(cpu) {
		ret = start_cpu(cpu);
		if (ret)
			break;
	}
	cpus_read_unlock();
	if (ret)
		stop();
	return ret;
}

static void single(unsigned int seed, unsigned int words)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		prepare(cpu, seed);
	run_words = words;
	run_discard = 0;
	run_most = 1;
	for_each_online_cpu(cpu)
		WRITE_ONCE(per_cpu(torture_cpus, cpu).active, true);
}

static void fire_without_softirqs(struct torture_writer *writer)
{
	local_bh_disable();
	fire(writer, 1);
	local_bh_enable();
}

static int fire_one(unsigned int ctx)
{
	struct torture_cpu *tc = get_cpu_ptr(&torture_cpus);
	int ret = 0;

	if (running || !run_most)
		ret = -EBUSY;
	else if (ctx == TASK)
		fire(&tc->writers[TASK], 1);
	else if (ctx == SOFTIRQ)
		tasklet_schedule(&tc->tasklet);
	else if (ctx == HARDIRQ)
		irq_work_queue(&tc->work);
	else if (ctx == NMI)
		send_nmi_to(smp_processor_id());
	else if (ctx == NR_CONTEXTS)
		fire_without_softirqs(&tc->writers[TASK]);
	else
		ret = -EINVAL;
	put_cpu_ptr(&torture_cpus);
	return ret;
}

/* A conditional snapshot, as a histogram takes it. */
static int snapshot_of(const char *instance)
{
	struct trace_array *tr = get_instance(instance);

	if (!tr)
		return -ENOENT;
	tracing_snapshot_cond(tr, NULL);
	trace_array_put(tr);
	return 0;
}

static int command(const char *line)
{
	unsigned int seed, words, discard, ctx;
	char name[32];

	if (sscanf(line, "fire %u", &ctx) == 1)
		return fire_one(ctx);
	if (sscanf(line, "snapshot %31s", name) == 1)
		return snapshot_of(name);
	if (sysfs_streq(line, "snapshot")) {
		tracing_snapshot();
		return 0;
	}
	if (sysfs_streq(line, "stop")) {
		stop();
		return 0;
	}
	if (sscanf(line, "start %u %u %u", &seed, &words, &discard) == 3 &&
	    words <= WORDS_MAX && discard <= 255) {
		stop();
		return start(seed, words, discard);
	}
	if (sscanf(line, "single %u %u", &seed, &words) == 2 && words <= WORDS_MAX) {
		stop();
		single(seed, words);
		return 0;
	}
	return -EINVAL;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t len,
			 loff_t *pos)
{
	char line[64];
	int ret;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';

	mutex_lock(&run_mutex);
	ret = command(line);
	mutex_unlock(&run_mutex);
	return ret ? ret : len;
}

static const struct file_operations run_fops = {
	.owner	= THIS_MODULE,
	.write	= run_write,
};

static int counts_show(struct seq_file *m, void *unused)
{
	unsigned int cpu, ctx;

	for_each_present_cpu(cpu) {
		seq_printf(m, "%u", cpu);
		for (ctx = 0; ctx < NR_CONTEXTS; ctx++)
			seq_printf(m, " %u",
				   READ_ONCE(per_cpu(torture_cpus, cpu).writers[ctx].next));
		seq_putc(m, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static int __init torture_event_init(void)
{
	unsigned int cpu;
	int ret;

	for_each_possible_cpu(cpu) {
		struct torture_cpu *tc = &per_cpu(torture_cpus, cpu);

		tasklet_setup(&tc->tasklet, fire_softirq);
		hrtimer_init(&tc->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		tc->timer.function = fire_timer;
		init_irq_work(&tc->work, fire_work);
	}
	ret = register_nmi_handler(NMI_LOCAL, fire_nmi, 0, "torture_event");
	if (ret)
		return ret;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "torture_event:online", cpu_comes,
				cpu_goes);
	if (ret < 0) {
		unregister_nmi_handler(NMI_LOCAL, "torture_event");
		return ret;
	}
	hotplug_state = ret;

	folder = debugfs_create_dir("torture_event", NULL);
	debugfs_create_file("run", 0200, folder, NULL, &run_fops);
	debugfs_create_file("counts", 0400, folder, NULL, &counts_fops);
	return 0;
}

static void __exit torture_event_exit(void)
{
	debugfs_remove(folder);
	stop();
	cpuhp_remove_state(hotplug_state);
	unregister_nmi_handler(NMI_LOCAL, "torture_event");
}

module_init(torture_event_init);
module_exit(torture_event_exit);
MODULE_DESCRIPTION("Events from every context, for tools/harness/suites/torture.sh");
MODULE_LICENSE("GPL");
