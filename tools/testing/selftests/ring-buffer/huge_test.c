// SPDX-License-Identifier: GPL-2.0
/*
 * A buffer of more than 4 GiB on one CPU. Not run with the others: it needs
 * 10 GiB of memory, or 6 GiB without the last test.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "buffer_fixture.h"

#define BUFFER_KB	(4160ULL * 1024)
#define NEEDED_KB	(BUFFER_KB + 512 * 1024)

FIXTURE(huge) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
};

FIXTURE_VARIANT(huge) {
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(huge, instance) {
	.subbuf_kb = 0,
};

FIXTURE_VARIANT_ADD(huge, instance_large) {
	.subbuf_kb = 512,
};

FIXTURE_SETUP(huge)
{
	ASSERT_EQ(0, instance_open(&self->ti, false, variant->subbuf_kb));
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      BUFFER_KB))
		TH_LOG("needs %llu KiB of memory", NEEDED_KB);
	ASSERT_EQ(0, buffer_map(&self->mb, &self->ti, self->ti.cpu, O_NONBLOCK));
}

FIXTURE_TEARDOWN(huge)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* MAP-6 */
TEST_F_TIMEOUT(huge, buffer_beyond_4_gigabytes_maps_whole, 600)
{
	EXPECT_LT(1ULL << 32, self->mb.len);
	/* Its last sub-buffer is there, and nothing behind it. */
	EXPECT_EQ(0, map_error(self->mb.fd, self->mb.meta->subbuf_size,
			       PROT_READ, MAP_SHARED,
			       self->mb.len - self->mb.meta->subbuf_size));
	EXPECT_EQ(EINVAL, map_error(self->mb.fd, self->mb.meta->subbuf_size,
				    PROT_READ, MAP_SHARED, self->mb.len));
}

/* What an event of a raw marker is longer than what was written. */
#define RECORD_OVERHEAD	20

/* MAP-6: Large events, until the ring is full; each in its place. */
TEST_F_TIMEOUT(huge, sub_buffers_beyond_4_gigabytes_are_where_they_belong, 900)
{
	uint32_t size = self->mb.meta->subbuf_size, id, seq;
	static char bytes[512 * 1024];
	struct event_payload *payload = (void *)bytes;
	size_t len = size > 4096 ? size - 64 : 1000;
	unsigned int each = (size - SUBBUF_HEADER) / (len + RECORD_OVERHEAD);
	unsigned int subbufs = self->mb.meta->nr_subbufs - 1;
	struct tally tally = { 0 };

	memset(bytes, 0x5a, sizeof(bytes));
	payload->tag = EVENT_TAG;
	for (seq = 0; seq < subbufs * each; seq++) {
		payload->seq = seq;
		ASSERT_EQ(len, write(self->ti.marker, bytes, len));
	}
	for (id = 1; id <= subbufs; id++) {
		ASSERT_LT(0, tally_get_reader(&tally, &self->mb));
		ASSERT_EQ(id, self->mb.meta->reader.id);
	}
	EXPECT_TRUE(tally_exact(&tally));
	EXPECT_EQ(subbufs * each, tally.seen);
}

/* The same, with nothing mapped, and sub-buffers of half the size that may be. */
FIXTURE(unmapped) {
	struct trace_instance	ti;
};

FIXTURE_SETUP(unmapped)
{
	ASSERT_EQ(0, instance_open(&self->ti, false, 256));
	ASSERT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      BUFFER_KB))
		TH_LOG("needs %llu KiB of memory", NEEDED_KB);
}

FIXTURE_TEARDOWN(unmapped)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* SUBBUF-9: More bytes than an int counts. Both buffers are there for a while. */
TEST_F_TIMEOUT(unmapped, another_sub_buffer_size_keeps_the_size_of_the_buffer, 600)
{
	unsigned long long kb = 2 * self->ti.subbuf_kb;
	struct mapped_buffer mb;

	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb", kb));
	ASSERT_EQ(0, buffer_map(&mb, &self->ti, self->ti.cpu, O_NONBLOCK));
	EXPECT_LE(BUFFER_KB - kb, (mb.meta->nr_subbufs - 1) * kb);
	EXPECT_GE(BUFFER_KB + kb, (mb.meta->nr_subbufs - 1) * kb);
	buffer_unmap(&mb);
}

TEST_HARNESS_MAIN
