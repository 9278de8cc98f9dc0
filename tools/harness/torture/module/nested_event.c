// SPDX-License-Identifier: GPL-2.0
/*
 * nested_event: interrupt the writer of an event at each of its instructions
 *
 * A task writes an event into a ring buffer of its own with the processor's trap
 * flag set. At the n-th trap, for each n there is, the handler, which is in the
 * context of an NMI, writes another event, or has an interrupt do it that comes
 * before the next instruction. What the buffer gives then is compared with what
 * was written: each event once, whole, at no earlier time than the one before it,
 * and all of them as soon as the task has committed its own.
 *
 * Or a reader takes the next sub-buffer with the trap flag set, and at the n-th trap the
 * handler writes some sub-buffers full: a ring or two of them goes past a reader that
 * stands still. Each loss has to be told where it is. Or an event is begun when the reader
 * comes, and another one when it goes on: nothing is committed then on the sub-buffer that
 * the writer is on, and what is in the others has to be found.
 *
 * Or it lets a task on another CPU read all that there was, from a buffer that is full and
 * not overwritten: after that there has to be room for as much as ever.
 *
 * The results are lines of the kernel's log, "nested_event: ok NAME" and "nested_event:
 * not ok NAME". insmod ends when all have been told.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/ring_buffer.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <asm/debugreg.h>
#include <asm/processor-flags.h>

/* Linux 6.3 and newer know the event to be committed by themselves. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define commit_event(buffer, event)	ring_buffer_unlock_commit(buffer, event)
#else
#define commit_event(buffer, event)	ring_buffer_unlock_commit(buffer)
#endif

#define NEVER		ULONG_MAX
#define WORDS_MAX	16
#define EVENTS_MAX	1024
/* Of all words, in a sub-buffer */
#define SUBBUF_EVENTS	(PAGE_SIZE / 72)

/* What an event says: how many words, and which number in each of them. */
struct nested_payload {
	u32	words;
	u32	seq[WORDS_MAX];
};

/* Who interrupts whom. */
enum nested_by { BY_NMI, BY_IRQ, BY_IRQ_AND_NMI, NR_BY, BY_READER = NR_BY, BY_WRITER };

static const char * const by_names[NR_BY] = { "nmi", "irq", "irq_and_nmi" };

/* Where the event that is interrupted comes to lie, and what is done with it. */
struct nested_case {
	const char	*name;
	unsigned int	fill;		/* events before it */
	unsigned int	words;
	unsigned int	late_ms;	/* after them */
	unsigned int	stride;		/* of the traps that are tried */
	bool		discard;
	bool		overwrite;	/* so many events that the oldest are gone */
};

static unsigned int only;
module_param(only, uint, 0444);
MODULE_PARM_DESC(only, "the number of the test to run, 0 for all");

static struct trace_buffer *buffer;
static struct irq_work work;
static u32 next_seq;

/* Of the traps of one event: only its CPU has any. */
static struct {
	bool		on;
	unsigned long	seen;
	unsigned long	at;
	enum nested_by	by;
	/* Inside the interrupt's event, the traps start anew. */
	unsigned long	irq_at;
	bool		in_irq;
	unsigned int	subbufs;	/* to write BY_WRITER */
} trap;

/* An event that is not committed yet. */
static struct {
	struct ring_buffer_event	*event;
	u32				seq;
} begun;

static struct {
	DECLARE_BITMAP(kept, EVENTS_MAX);	/* not yet read */
	bool		refused;	/* for one there was no room */
	bool		late;		/* the interrupt came when the event was written */
} written;

/* The task that reads meanwhile. */
static struct {
	int		cpu;		/* of the writer, if it is to read, or -1 */
	unsigned int	count;		/* of events, with which it is done */
	const char	*wrong;		/* with what it has read */
} reader = { .cpu = -1 };

static void nested_keep(u32 seq)
{
	if (seq < EVENTS_MAX)
		set_bit(seq, written.kept);
}

static __always_inline void set_trap_flag(void)
{
	asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i" (X86_EFLAGS_TF) : "memory", "cc");
}

static __always_inline void clear_trap_flag(void)
{
	asm volatile("pushfq; andq %0, (%%rsp); popfq"
		     : : "i" (~(long)X86_EFLAGS_TF) : "memory", "cc");
}

static __always_inline void fill_event(struct ring_buffer_event *event, unsigned int words,
				       u32 seq)
{
	struct nested_payload *payload = ring_buffer_event_data(event);
	unsigned int i;

	payload->words = words;
	for (i = 0; i < words; i++)
		payload->seq[i] = seq;
}

/* Nothing is called between reserve and commit that is not in line. */
static __always_inline void write_event(unsigned int words, bool discard, bool stepped)
{
	struct ring_buffer_event *event;
	u32 seq = next_seq++;

	if (stepped)
		set_trap_flag();
	event = ring_buffer_lock_reserve(buffer, offsetof(struct nested_payload, seq[words]));
	if (event) {
		fill_event(event, words, seq);
		if (discard)
			ring_buffer_discard_commit(buffer, event);
		else
			commit_event(buffer, event);
	}
	if (stepped)
		clear_trap_flag();
	if (event && !discard)
		nested_keep(seq);
	if (!event)
		written.refused = true;
}

static noinline void write_plain(unsigned int words)
{
	write_event(words, false, false);
}

static noinline void write_stepped(unsigned int words, bool discard)
{
	trap.on = true;
	write_event(words, discard, true);
	trap.on = false;
}

/* Before the instruction that the NMI's return goes to. */
static void write_from_irq(struct irq_work *irq_work)
{
	written.late = !trap.on;
	if (trap.by == BY_IRQ) {
		write_plain(1);
		return;
	}
	trap.in_irq = true;
	trap.seen = 0;
	write_stepped(1, false);
	trap.in_irq = false;
}

static const char *check_event(struct ring_buffer_event *event, u32 *seq)
{
	struct nested_payload *payload = ring_buffer_event_data(event);
	unsigned int i;

	if (!payload->words || payload->words > WORDS_MAX)
		return "an event of no size that was written";
	*seq = payload->seq[0];
	for (i = 1; i < payload->words; i++) {
		if (payload->seq[i] != *seq)
			return "an event in pieces";
	}
	if (*seq >= EVENTS_MAX || !test_and_clear_bit(*seq, written.kept))
		return "an event that was not written, or twice";
	return NULL;
}

/* NULL, or what is wrong with one of so many events. */
static const char *read_events(int cpu, unsigned int count)
{
	struct ring_buffer_event *event;
	const char *wrong = NULL;
	u32 seq;

	while (!wrong && count--) {
		event = ring_buffer_consume(buffer, cpu, NULL, NULL);
		wrong = event ? check_event(event, &seq) : "an event is missing";
	}
	return wrong;
}

/*
 * Wait for the reader. It may have to wait itself for this writer to go on, once it has all but
 * the sub-buffer that is being written.
 */
static void let_it_be_read(int cpu)
{
	unsigned int looks, last_looks = 10;

	WRITE_ONCE(reader.cpu, cpu);
	for (looks = 10000; looks && last_looks && READ_ONCE(reader.cpu) >= 0; looks--) {
		udelay(10);
		if (ring_buffer_entries_cpu(buffer, cpu) <= SUBBUF_EVENTS)
			last_looks--;
	}
}

static void write_many(unsigned int count)
{
	while (count--)
		write_plain(WORDS_MAX);
}

static void begin_event(void)
{
	begun.seq = next_seq++;
	begun.event = ring_buffer_lock_reserve(buffer, sizeof(struct nested_payload));
	if (!begun.event) {
		written.refused = true;
		return;
	}
	fill_event(begun.event, WORDS_MAX, begun.seq);
}

static void end_event(void)
{
	commit_event(buffer, begun.event);
	begun.event = NULL;
	nested_keep(begun.seq);
}

static void write_past_reader(void)
{
	unsigned int count = trap.subbufs * SUBBUF_EVENTS;

	if (!begun.event) {
		write_many(count);
		return;
	}
	/* The event is the first of its sub-buffer: begin the first of another one */
	end_event();
	write_many(count - 1);
	begin_event();
}

static int handle_trap(struct notifier_block *nb, unsigned long val, void *data)
{
	struct die_args *args = data;
	unsigned long *dr6 = (unsigned long *)args->err;
	unsigned long at = trap.in_irq ? trap.irq_at : trap.at;

	if (val != DIE_DEBUG || !(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	*dr6 &= ~DR_STEP;
	if (!trap.on) {
		args->regs->flags &= ~X86_EFLAGS_TF;
		return NOTIFY_STOP;
	}
	if (trap.seen++ == at) {
		if (trap.by == BY_READER)
			let_it_be_read(smp_processor_id());
		else if (trap.by == BY_WRITER)
			write_past_reader();
		else if (trap.in_irq || trap.by == BY_NMI)
			write_plain(2);
		else
			irq_work_queue(&work);
	}
	/* What comes after is as ever. An interrupt returns to the flags it came with. */
	if (trap.seen > at)
		args->regs->flags &= ~X86_EFLAGS_TF;
	return NOTIFY_STOP;
}

static struct notifier_block trap_notifier = { .notifier_call = handle_trap };

/* NULL, or what is wrong. Of the events that were overwritten the count is known. */
static const char *check_buffer(int cpu, bool overwrite)
{
	unsigned long lost, gone = 0, there = ring_buffer_entries_cpu(buffer, cpu);
	struct ring_buffer_event *event;
	u64 ts = 0, before = 0;
	const char *wrong;
	u32 seq;

	while ((event = ring_buffer_consume(buffer, cpu, &ts, &lost))) {
		gone += lost;
		wrong = check_event(event, &seq);
		if (wrong)
			return wrong;
		if (ts < before)
			return "time went back";
		before = ts;
		there--;
	}
	if (ts > ring_buffer_time_stamp(buffer))
		return "an event of the time to come";
	if (there)
		return "not as many events as it says";
	if (gone != (overwrite ? ring_buffer_overrun_cpu(buffer, cpu) : 0))
		return "a loss that does not add up";
	if (bitmap_weight(written.kept, EVENTS_MAX) != gone)
		return "an event is missing";
	if (written.refused)
		return "an event was refused";
	return NULL;
}

/* Begin with nothing written, on the CPU that is returned, until migrate_enable(). */
static int start_over(void)
{
	bitmap_zero(written.kept, EVENTS_MAX);
	written.refused = false;
	written.late = false;
	next_seq = 0;
	migrate_disable();
	return smp_processor_id();
}

/* With preemption off: the trap with this number is the one that does something. */
static void set_trap(enum nested_by by, unsigned long at)
{
	trap.by = by;
	trap.seen = 0;
	trap.at = at;
}

static void fill(const struct nested_case *c)
{
	unsigned int i;

	for (i = 0; i < c->fill; i++)
		write_plain(WORDS_MAX);
	if (c->late_ms)
		msleep(c->late_ms);
}

/* One event, interrupted at one instruction. @traps: how many there were */
static const char *write_and_check(const struct nested_case *c, enum nested_by by, unsigned long at,
				   unsigned long irq_at, unsigned long *traps)
{
	const char *wrong;
	int cpu;

	cpu = start_over();
	fill(c);

	preempt_disable();
	set_trap(by, at);
	trap.irq_at = irq_at;
	write_stepped(c->words, c->discard);
	*traps = trap.seen;
	preempt_enable();

	irq_work_sync(&work);
	wrong = check_buffer(cpu, c->overwrite);
	migrate_enable();
	if (!wrong && at != NEVER && (written.late || next_seq < c->fill + 2))
		wrong = "nothing interrupted it";
	return wrong;
}

/* In a buffer that is new: to reset one takes a grace period. */
static const char *interrupt_at(const struct nested_case *c, enum nested_by by, unsigned long at,
				unsigned long irq_at, unsigned long *traps)
{
	const char *wrong;

	buffer = ring_buffer_alloc(8 * PAGE_SIZE, RB_FL_OVERWRITE);
	if (!buffer)
		return "no memory";
	wrong = write_and_check(c, by, at, irq_at, traps);
	ring_buffer_free(buffer);
	return wrong;
}

static void run_case(const struct nested_case *c, enum nested_by by)
{
	unsigned long traps = 0, seen, at, irq_at = 0, tried = 0;
	const char *wrong = interrupt_at(c, BY_NMI, NEVER, 0, &traps);

	/* The first time is not like the others where a kernel does something once. */
	if (!wrong)
		wrong = interrupt_at(c, BY_NMI, NEVER, 0, &traps);
	for (at = 0; !wrong && at < traps; at += c->stride) {
		wrong = interrupt_at(c, by, at, irq_at, &seen);
		/* Some instruction of the interrupt's event, another one each time. */
		irq_at = (irq_at + 89) % traps;
		tried++;
		cond_resched();
	}
	if (wrong)
		pr_info("nested_event: # %s, at instruction %lu of %lu\n",
			wrong, at - c->stride, traps);
	pr_info("nested_event: %sok nested.%s.%s\n", wrong ? "not " : "", c->name, by_names[by]);
	if (!wrong)
		pr_info("nested_event: # %lu of %lu instructions\n", tried, traps);
}

/* An event of all words takes 72 bytes, 56 fill a sub-buffer of 4 KiB up to 48 bytes. */
static const struct nested_case cases[] = {
	{ .name = "first_of_a_sub_buffer", .fill = 0, .words = 4, .stride = 1 },
	{ .name = "in_the_middle", .fill = 10, .words = 4, .stride = 1 },
	{ .name = "last_of_a_sub_buffer", .fill = 56, .words = 10, .stride = 1 },
	{ .name = "on_the_next_sub_buffer", .fill = 56, .words = 16, .stride = 1 },
	{ .name = "overwriting_others", .fill = 56 * 8, .words = 16, .stride = 3,
	  .overwrite = true },
	{ .name = "with_a_time_extend", .fill = 3, .words = 4, .stride = 8,
	  .late_ms = 150 },
	{ .name = "discarded", .fill = 10, .words = 4, .stride = 1, .discard = true },
	{ .name = "discarded_on_the_next_sub_buffer", .fill = 56, .words = 16,
	  .stride = 1, .discard = true },
};

#define STEPPED_SUBBUFS	2

/* What is stepped: a reader that consumes, the same where an event is begun, or a look. */
enum stepped_by { CONSUMES, CONSUMES_BEGUN, LOOKS, NR_STEPPED };

static const char * const stepped_names[NR_STEPPED] = { "reader", "reader_of_begun", "look" };

static struct ring_buffer_event *consume_stepped(int cpu, unsigned long *lost)
{
	struct ring_buffer_event *event;

	trap.on = true;
	set_trap_flag();
	event = ring_buffer_consume(buffer, cpu, NULL, lost);
	clear_trap_flag();
	trap.on = false;
	return event;
}

static bool is_empty_stepped(int cpu)
{
	bool empty;

	trap.on = true;
	set_trap_flag();
	empty = ring_buffer_empty_cpu(buffer, cpu);
	clear_trap_flag();
	trap.on = false;
	return empty;
}

/* NULL, or what is wrong with the next event, or with what is told lost before it. */
static const char *consume_next(int cpu, u32 *next, bool stepped, bool *more)
{
	struct ring_buffer_event *event;
	unsigned long lost = 0;
	const char *wrong;
	u32 seq;

	event = stepped ? consume_stepped(cpu, &lost) :
			  ring_buffer_consume(buffer, cpu, NULL, &lost);
	*more = event;
	if (!event)
		return NULL;
	wrong = check_event(event, &seq);
	if (!wrong && seq - *next != lost)
		wrong = "a loss is told in the wrong place";
	*next = seq + 1;
	return wrong;
}

/*
 * NULL, or what is wrong. One sub-buffer is full and read, another is full, and an event is
 * begun that is the first of the next.
 */
static const char *read_up_to_begun(int cpu, u32 *next)
{
	const char *wrong = NULL;
	unsigned int i;
	bool more;

	write_many(2 * SUBBUF_EVENTS);
	for (i = 0; !wrong && i < SUBBUF_EVENTS; i++)
		wrong = consume_next(cpu, next, false, &more);
	begin_event();
	return wrong;
}

/* A ring is read, and written meanwhile at one instruction. */
static const char *write_at(enum stepped_by by, unsigned long at, unsigned long *traps)
{
	const char *wrong = NULL;
	bool more = true;
	u32 next = 0;
	int cpu;

	cpu = start_over();
	preempt_disable();
	if (by == CONSUMES)
		write_many((STEPPED_SUBBUFS + 1) * SUBBUF_EVENTS);
	else
		wrong = read_up_to_begun(cpu, &next);

	set_trap(BY_WRITER, at);
	if (by == LOOKS && is_empty_stepped(cpu))
		wrong = "it is called empty";
	else if (by != LOOKS && !wrong)
		wrong = consume_next(cpu, &next, true, &more);
	*traps = trap.seen;
	if (begun.event)
		end_event();
	preempt_enable();

	while (!wrong && more)
		wrong = consume_next(cpu, &next, false, &more);
	migrate_enable();
	if (!wrong && written.refused)
		wrong = "an event was refused";
	if (!wrong && next != next_seq)
		wrong = "the last events are missing";
	return wrong;
}

static const char *interrupt_to_write_at(enum stepped_by by, unsigned long at,
					 unsigned long *traps)
{
	const char *wrong;

	buffer = ring_buffer_alloc(STEPPED_SUBBUFS * PAGE_SIZE, RB_FL_OVERWRITE);
	if (!buffer)
		return "no memory";
	wrong = write_at(by, at, traps);
	ring_buffer_free(buffer);
	return wrong;
}

static void run_stepped(enum stepped_by by, unsigned int subbufs)
{
	unsigned long traps = 0, seen, at;
	const char *wrong;

	trap.subbufs = subbufs;
	wrong = interrupt_to_write_at(by, NEVER, &traps);
	for (at = 0; !wrong && at < traps; at++) {
		wrong = interrupt_to_write_at(by, at, &seen);
		cond_resched();
	}
	if (wrong)
		pr_info("nested_event: # %s, at instruction %lu of %lu\n", wrong, at - 1, traps);
	pr_info("nested_event: %sok nested.stepped_%s.%u_sub_buffers\n", wrong ? "not " : "",
		stepped_names[by], subbufs);
	if (!wrong)
		pr_info("nested_event: # %lu instructions\n", traps);
}

/* Returns how many events the buffer takes. */
static unsigned int fill_up(void)
{
	u32 first = next_seq;

	for (written.refused = false; !written.refused;)
		write_plain(WORDS_MAX);
	return next_seq - first - 1;
}

/* One event that finds the buffer full, which is read meanwhile, or after it. */
static const char *read_at(unsigned long at, unsigned long *traps, unsigned int *room)
{
	const char *wrong;
	int cpu;

	cpu = start_over();
	reader.wrong = NULL;
	reader.count = fill_up();

	preempt_disable();
	set_trap(BY_READER, at);
	write_stepped(WORDS_MAX, false);
	*traps = trap.seen;
	preempt_enable();

	while (READ_ONCE(reader.cpu) >= 0)
		msleep(1);
	wrong = at == NEVER ? read_events(cpu, reader.count) : reader.wrong;
	*room = fill_up();
	if (!wrong)
		wrong = read_events(cpu, bitmap_weight(written.kept, EVENTS_MAX));
	migrate_enable();
	return wrong;
}

static int read_when_asked(void *unused)
{
	while (!kthread_should_stop()) {
		if (READ_ONCE(reader.cpu) >= 0) {
			reader.wrong = read_events(reader.cpu, reader.count);
			smp_store_release(&reader.cpu, -1);
		}
		cond_resched();
	}
	return 0;
}

static const char *interrupt_to_read_at(unsigned long at, unsigned long *traps, unsigned int *room)
{
	const char *wrong;

	buffer = ring_buffer_alloc(3 * PAGE_SIZE, 0);
	if (!buffer)
		return "no memory";
	wrong = read_at(at, traps, room);
	ring_buffer_free(buffer);
	return wrong;
}

static void run_reader(void)
{
	unsigned int room = 0, left;
	unsigned long traps = 0, seen, at;
	struct task_struct *task = kthread_run(read_when_asked, NULL, "nested_reader");
	const char *wrong = IS_ERR(task) ? "no task" : NULL;

	if (!wrong)
		wrong = interrupt_to_read_at(NEVER, &traps, &room);
	for (at = 0; !wrong && at < traps; at++) {
		wrong = interrupt_to_read_at(at, &seen, &left);
		/* The event itself may have got in. */
		if (!wrong && left + 1 < room)
			wrong = "a part of the buffer is not used";
		cond_resched();
	}
	if (!IS_ERR(task))
		kthread_stop(task);
	if (wrong)
		pr_info("nested_event: # %s, at instruction %lu of %lu\n", wrong, at - 1, traps);
	pr_info("nested_event: %sok nested.finds_it_full.reader\n", wrong ? "not " : "");
	if (!wrong)
		pr_info("nested_event: # %lu instructions, room for %u events\n", traps, room);
}

static int __init nested_event_init(void)
{
	unsigned int i, by, subbufs;

	init_irq_work(&work, write_from_irq);
	register_die_notifier(&trap_notifier);
	for (i = 0; i < ARRAY_SIZE(cases) * NR_BY; i++) {
		if (!only || only == i + 1)
			run_case(&cases[i / NR_BY], i % NR_BY);
	}
	for (by = 0; by < NR_STEPPED; by++) {
		for (subbufs = 1; subbufs <= 2 * STEPPED_SUBBUFS + 1; subbufs++, i++) {
			if (!only || only == i + 1)
				run_stepped(by, subbufs);
		}
	}
	if (!only || only == i + 1)
		run_reader();
	unregister_die_notifier(&trap_notifier);
	return 0;
}

static void __exit nested_event_exit(void)
{
}

module_init(nested_event_init);
module_exit(nested_event_exit);
MODULE_DESCRIPTION("Interrupts the writer of an event at each instruction");
MODULE_LICENSE("GPL");
