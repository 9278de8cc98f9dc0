// SPDX-License-Identifier: LGPL-2.1
/*
 * make_corpus DIR: inputs for subbuf_fuzz.c to begin with: well-formed files of
 * every layout with every kind of record, and of these the ways to be damaged
 * that are hard to come by at random.
 */
#include <stdio.h>
#include <stdlib.h>

#include "subbuf_make.h"

#define DATA_WORDS	48
#define SUBBUFS		3

/* The first bytes of an input: see subbuf_fuzz.c */
struct head {
	unsigned char how, cut, words_low, words_high;
};

static void every_kind(struct subbuf_make *m, uint64_t ts)
{
	static const unsigned char data[128] = "event";

	make_event(m, ts, data, 8);
	make_discarded(m, 1, 8);
	make_time(m, SUBBUF_TYPE_TIME_EXTEND, 1ULL << 30);
	make_event(m, m->ts + 5, data, 12);
	make_time(m, SUBBUF_TYPE_TIME_STAMP, m->ts + 100);
	make_event(m, m->ts, data, 4);
	if (ts % 2)
		make_event(m, m->ts + 1, data, 116);	/* its length in a word of its own */
}

static void write_file(const char *dir, const char *name, struct head head, int damage)
{
	unsigned int commit_size = head.how & 2 ? 8 : 4;
	struct subbuf_format f = {
		.subbuf_size = 8 + commit_size + 4 * DATA_WORDS,
		.commit_offset = 8, .commit_size = commit_size,
		.data_offset = 8 + commit_size, .big_endian = head.how & 1,
	};
	struct subbuf_make m;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s-%02x", dir, name, head.how);
	file = fopen(path, "wb");
	if (!file) {
		perror(path);
		exit(1);
	}
	fwrite(&head, sizeof(head), 1, file);
	for (int i = 0; i < SUBBUFS; i++) {
		make_begin(&m, &f, 1000 + 100 * i);
		every_kind(&m, 1001 + 100 * i);
		if (damage)
			make_put(&m, f.data_offset + damage, 0x7fffffff, 4);
		make_finish(&m, i == 1 ? 7 : i == 2 ? SUBBUF_MISSED_UNKNOWN : 0);
		fwrite(m.bytes, 1, i < SUBBUFS - 1 || !damage ? f.subbuf_size : 40, file);
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	struct head head = { .words_low = DATA_WORDS - 1 };

	if (argc != 2)
		return 2;
	for (head.how = 0; head.how < 16; head.how += 1) {
		head.cut = head.how * 17;
		write_file(argv[1], "good", head, 0);
		if (head.how % 5 == 0)
			write_file(argv[1], "damaged", head, 12);
	}
	return 0;
}
