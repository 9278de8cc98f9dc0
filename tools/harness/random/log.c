// SPDX-License-Identifier: GPL-2.0
/* The last orders and their answers, and a digest of all. */
#include "random.h"

#ifndef KEPT
#define KEPT	24
#endif

static struct {
	struct order	order;
	struct answer	answer;
} kept[KEPT];
static unsigned long count;
static uint64_t digest, seed;
static unsigned int round_nr;

void log_begin(uint64_t s, unsigned int round)
{
	seed = s;
	round_nr = round;
	count = 0;
	digest = 0;
}

static void digest_number(uint64_t number)
{
	digest = (digest ^ number) * 0x100000001b3ULL;
	digest ^= digest >> 29;
}

void log_order(const struct order *o, const struct answer *a)
{
	kept[count % KEPT].order = *o;
	kept[count++ % KEPT].answer = *a;
	/* Not what may differ though the choices are the same: process ids, answers */
	digest_number(o->op * 8 + o->worker);
	digest_number(o->at * 4096 + o->len);
	digest_number(o->to * 4096 + o->to_len);
	digest_number(o->off + o->prot + o->flags);
	digest_number(o->inst * 16 + o->fd);
}

uint64_t log_digest(void)
{
	return digest;
}

unsigned long log_count(void)
{
	return count;
}

static void show(unsigned long nr)
{
	const struct order *o = &kept[nr % KEPT].order;
	const struct answer *a = &kept[nr % KEPT].answer;

	printf("#  %5lu w%d %-16s i%d c%d fd%d pipe%d other%d at %ld+%ld to %ld+%ld off %#llx",
	       nr, o->worker, operation(o->op)->name, o->inst, o->cpu, o->fd, o->pipe, o->other,
	       o->at, o->len, o->to, o->to_len, (unsigned long long)o->off);
	printf(" prot %d flags %#x value %ld '%s' = ", o->prot, o->flags, o->value, o->text);
	if (a->err)
		printf("%s\n", strerrorname_np(a->err) ?: "?");
	else
		printf("%ld (%ld)\n", a->ret, a->value);
}

void log_show(const char *complaint)
{
	unsigned long nr = count < KEPT ? 0 : count - KEPT;

	printf("# seed %llu round %u operation %lu%s: %s\n", (unsigned long long)seed, round_nr,
	       count ? count - 1 : 0, storm ? " of this worker in the storm" : "", complaint);
	printf("# the last operations:\n");
	for (; nr < count; nr++)
		show(nr);
	model_show();
	fflush(stdout);
}
