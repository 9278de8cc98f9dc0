/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An operation of which each allocation fails once, and what is checked after.
 */
#ifndef SELFTEST_RING_BUFFER_FAULT_FIXTURE_H
#define SELFTEST_RING_BUFFER_FAULT_FIXTURE_H

#include "fault.h"
#include "map_fixture.h"

/* Emulated, with KASAN, a hundred calls and what is checked after each. */
#define FAULT_TIMEOUT	900

/* What @before, @call and @after of an operation hand on. */
static struct {
	void		*map;
	void		*hint;
	void		*old_map;
	size_t		len;
	int		fd;
	int		other_fd;
	int		pipe[2];
	pid_t		child;
	ssize_t		got;
	long long	size;	/* of each CPU's buffer */
	long		subbufs;
	unsigned char	page[2 * LARGE_SUBBUF_KB * 1024];
} with;

/*
 * @name: to be told
 * @before: what it needs
 * @call: in this one an allocation fails
 * @after: takes back what they did; @err is what @call returned
 *
 * All of them return a negative errno when they fail.
 */
struct operation {
	const char	*name;
	int		(*before)(FIXTURE_DATA(map) * self);
	int		(*call)(FIXTURE_DATA(map) * self);
	int		(*after)(FIXTURE_DATA(map) * self, int err);
};

static inline int prepare(FIXTURE_DATA(map) * self)
{
	with.size = cpu_number(&self->ti, self->ti.cpu, "buffer_size_kb");
	return with.size < 0 ? with.size : faults_allow();
}

typedef void (*fault_check)(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self);

/* Nothing of it is mapped: events come through, any size can be had. */
static inline void expect_free(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self)
{
	struct trace_instance *ti = &self->ti;

	EXPECT_EQ(with.size, cpu_number(ti, ti->cpu, "buffer_size_kb"));
	EXPECT_EQ(with.size, cpu_number(ti, ti->other_cpu, "buffer_size_kb"));
	EXPECT_EQ(ti->subbuf_kb, instance_number(ti, "buffer_subbuf_size_kb"));
	ASSERT_EQ(0, write_events(ti, 10, EVENT_LARGE));
	ASSERT_LE(0, tally_read(&self->tally, self->fd, self->subbuf));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(ti->seq, self->tally.next);
	EXPECT_EQ(0, self->tally.lost);
	expect_unmapped(_metadata, ti);
}

/* All is as before, and nobody counts as a snapshot user. */
static inline void expect_mappable(struct __test_metadata *_metadata,
				   FIXTURE_DATA(map) * self)
{
	EXPECT_EQ(0, map_error(self->fd, self->page, PROT_READ, MAP_SHARED, 0));
	expect_free(_metadata, self);
}

/* The mapping in self->mb is as good as ever. */
static inline void expect_kept(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self)
{
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	expect_mapped(_metadata, &self->ti);
}

#ifndef HAVE_TEST_PASSED
/* What newer test harnesses have. */
static inline bool __test_passed(struct __test_metadata *metadata)
{
	return metadata->passed;
}
#endif

/* Returns whether there was an allocation @nth to fail. */
static inline bool fail_one(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self,
			    const struct operation *op, unsigned int nth, unsigned int *refused)
{
	int err, failed;

	ASSERT_EQ(0, op->before ? op->before(self) : 0);
	ASSERT_EQ(0, fault_begin(nth));
	err = op->call(self);
	failed = fault_end();
	ASSERT_LE(0, failed);
	if (err) {
		(*refused)++;
		EXPECT_EQ(-ENOMEM, err)
			TH_LOG("%s, allocation %u: %s", op->name, nth, strerror(-err));
		/* Only a failed allocation is a reason. */
		EXPECT_EQ(1, failed);
	}
	EXPECT_EQ(0, op->after ? op->after(self, err) : 0);
	return failed;
}

static inline void fail_each(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self,
			     const struct operation *op, fault_check as_before)
{
	unsigned int nth = 1, refused = 0;
	bool failed;

	do {
		failed = fail_one(_metadata, self, op, nth++, &refused);
		as_before(_metadata, self);
	} while (failed && __test_passed(_metadata));
	EXPECT_LT(0, refused);
	fprintf(stderr, "# %s: %u allocations, without %u of them it was refused\n", op->name,
		nth - 2, refused);
}

static inline int take_snapshot(FIXTURE_DATA(map) * self)
{
	return instance_write(&self->ti, "snapshot", "1");
}

#endif /* SELFTEST_RING_BUFFER_FAULT_FIXTURE_H */
