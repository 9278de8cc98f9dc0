// SPDX-License-Identifier: GPL-2.0
/*
 * A trace.dat that was cut, or whose head or pages are not all as they were written.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tracemap.h>

#include "advice.h"
#include "event_line.h"
#include "report_file.h"
#include "stop.h"
#include "temp_file.h"
#include "trace_dat_send.h"
#include "trace_head.h"
#include "verbs.h"
#include "write_all.h"

#define PAGE_SIZE_MIN	4096

/* How each file begins, of version 6 or 7 and either byte order */
struct begin {
	char magic[TRACE_HEAD_MAGIC_SIZE];
	char version[2];
	unsigned char big_endian, long_size, page_size[4];
};

/**
 * struct head - what is found before the data
 * @file: the file; NULL: it cannot be opened
 * @found: what describes the table
 * @table: where the data of the CPUs are; NULL: tracemap did not write the file, or compressed it
 */
struct head {
	FILE *file;
	struct trace_head_found found;
	struct trace_region *table;
};

/* ---- The head ---- */

static uint32_t page_size_of(const struct begin *b)
{
	uint32_t size = 0;

	for (int i = 0; i < 4; i++)
		size = size << 8 | b->page_size[b->big_endian ? i : 3 - i];
	return size;
}

static bool has_bad_page_size(FILE *file, const char *name)
{
	struct begin b;
	uint32_t size;

	if (fread(&b, sizeof(b), 1, file) != 1 || !trace_head_magic(b.magic) || b.version[1])
		return false;
	size = page_size_of(&b);
	if (size >= PAGE_SIZE_MIN && !(size & (size - 1)))
		return false;
	say("%s: its head is damaged, as no file has pages of %u bytes: copy it once more from where it was recorded",
	    name, size);
	return true;
}

/*
 * The data of each CPU begin where those of the one before end, and the last end with the file.
 * Between the table and the first is what tracemap or trace-cmd keeps there, and less than a page.
 */
static bool is_laid_out(const struct trace_head_found *found, const struct trace_region *table,
			uint64_t file_size)
{
	const uint64_t behind = found->table + found->nr_cpus * sizeof(*table);
	const uint64_t first_max = behind + 2ULL * found->page_size + found->nr_cpus;
	uint64_t end = 0;

	for (unsigned int cpu = 0; cpu < found->nr_cpus; cpu++) {
		const struct trace_region *region = &table[cpu];

		if (!region->size)
			continue;
		if (region->offset % found->page_size || region->size % found->page_size ||
		    (end ? region->offset != end :
		     region->offset < behind || region->offset > first_max))
			return false;
		end = region->offset + region->size;
	}
	return file_size < (end ? end : first_max) + found->page_size;
}

/* Returns what is wrong with it, or NULL. */
static const char *judge(struct head *head, uint64_t file_size)
{
	if (!head->found.page_fits)
		return "its page size does not fit its header_page";
	if (head->found.nr_cpus > file_size / sizeof(*head->table))
		return "no file of its size is of so many CPUs";
	head->table = trace_head_table(head->file, &head->found);
	if (head->table && !is_laid_out(&head->found, head->table, file_size))
		return "the data of its CPUs are not where its table says";
	return NULL;
}

/*
 * Look for damage before the data, behind which no event can be told from garbage: a page size
 * that no file has; if there is a table also one that the head does not describe, and data of the
 * CPUs that do not follow each other. Returns 0, or a negative errno, said.
 */
static int open_head(struct head *head, const char *path, const char *name)
{
	const char *what = NULL;
	struct stat st;

	*head = (struct head){ .file = fopen(path, "re") };
	if (!head->file)
		return 0;
	if (has_bad_page_size(head->file, name))
		return -EBADMSG;
	rewind(head->file);
	if (trace_head_find(head->file, &head->found) && !fstat(fileno(head->file), &st))
		what = judge(head, st.st_size);
	if (!what)
		return 0;
	say("%s: its head is damaged, as %s: copy it once more from where it was recorded",
	    name, what);
	return -EBADMSG;
}

/* ---- A copy ---- */

/* Where the copy is to be written. */
struct copy {
	int fd;
	uint64_t at;
};

static int put(void *arg, const void *data, size_t size)
{
	struct copy *copy = arg;
	int ret = trace_dat_write_at(copy->fd, data, size, copy->at);

	copy->at += size;
	return ret;
}

int report_cannot_copy(int error)
{
	return complain(ABOUT_OUTPUT, error,
			"%s, for a copy of what is there (TMPDIR names another folder)",
			temp_folder());
}

int report_copy(int from, const void *data, size_t size, uint64_t at)
{
	struct copy copy = { .fd = temp_file() };
	int ret = copy.fd;
	struct stat st;

	if (ret >= 0)
		ret = fstat(from, &st) ? -errno :
			trace_dat_send_file(from, st.st_size, put, &copy);
	if (!ret)
		ret = trace_dat_write_at(copy.fd, data, size, at);
	if (!ret)
		return copy.fd;
	if (copy.fd >= 0)
		close(copy.fd);
	return report_cannot_copy(ret);
}

/* ---- What was cut ---- */

/* How many bytes of data the table tells, and how many of these are not there in whole pages */
struct cut {
	uint64_t size, missing;
};

/* Tell of a CPU what is there of its data, in whole pages. */
static void clip(struct trace_region *region, uint64_t file_size, uint32_t page_size,
		 struct cut *cut)
{
	uint64_t there = file_size > region->offset ? file_size - region->offset : 0;

	cut->size += region->size;
	if (there >= region->size)
		return;
	there -= there % page_size;
	cut->missing += region->size - there;
	region->size = there;
}

static void say_cut(const struct cut *cut, const char *name, bool piped)
{
	say("%s: %s: of %llu KiB of data %llu are missing, and what is there is printed; %s", name,
	    piped ? "it did not come whole" : "it was cut", (unsigned long long)cut->size / 1024,
	    (unsigned long long)cut->missing / 1024,
	    piped ? "the program that has written it may have said why" :
	    "copy it once more from where it was recorded");
}

/*
 * Returns whether the file was cut, and says so; then @copy becomes the descriptor of a copy, and
 * that and @head have a table of what is there. Or returns a negative errno, said. Of a file
 * without a table it is not known.
 */
static int find_cut(struct head *head, const char *name, bool piped, int *copy)
{
	const struct trace_head_found *found = &head->found;
	struct cut cut = { .size = 0 };
	struct stat st;

	if (!head->table || fstat(fileno(head->file), &st))
		return 0;
	for (unsigned int i = 0; i < found->nr_cpus; i++)
		clip(&head->table[i], st.st_size, found->page_size, &cut);
	if (!cut.missing)
		return 0;
	*copy = report_copy(fileno(head->file), head->table,
			    found->nr_cpus * sizeof(*head->table), found->table);
	if (*copy < 0)
		return *copy;
	say_cut(&cut, name, piped);
	return 1;
}

/* ---- The pages ---- */

/**
 * struct search - looking for damage
 * @file: the file
 * @copy: the copy for libtracecmd, or -1
 * @format: the layout of a page
 * @page: the page that is looked at
 * @pages: how many pages of the CPU are damaged
 * @first: where the first of these is
 */
struct search {
	FILE *file;
	int copy;
	struct subbuf_format format;
	void *page;
	unsigned long long pages;
	unsigned long long first;
};

/* The file is of a machine with longs of this size, and so are its pages. */
static struct subbuf_format format_of(const struct trace_head_found *found)
{
	return (struct subbuf_format){
		.subbuf_size = found->page_size,
		.commit_offset = 8,
		.commit_size = sizeof(long),
		.data_offset = 8 + sizeof(long),
		.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
	};
}

static bool has_bad_head(const struct search *s)
{
	const struct subbuf_format *f = &s->format;

	return subbuf_committed(f, s->page) > f->subbuf_size - f->data_offset;
}

/*
 * Behind the records, and the number of lost events if there is one, a page has zeros: where it
 * has anything else, its head says less than it has.
 */
static bool has_bad_end(const struct search *s)
{
	const struct subbuf_format *f = &s->format;
	const uint32_t size = subbuf_committed(f, s->page);
	const bool stored = subbuf__commit(f, s->page) >> SUBBUF_MISSED_STORED & 1;
	const char *end = (const char *)s->page + f->subbuf_size;
	const char *rest = (const char *)s->page + f->data_offset + size;

	if (size % 4 || (stored && subbuf_missed(f, s->page) <= 0))
		return true;
	for (rest += stored ? f->commit_size : 0; rest < end; rest++) {
		if (*rest)
			return true;
	}
	return false;
}

/* No page is written without a time: where a disk has lost one, it has zeros. */
static bool has_bad_records(const struct search *s)
{
	struct subbuf_iter it = subbuf_begin(&s->format, s->page);
	struct subbuf_record record;

	while (subbuf_next(&it, &record))
		;
	return it.corrupt || has_bad_end(s) || (!subbuf_time_stamp(&s->format, s->page) &&
						!subbuf_committed(&s->format, s->page));
}

/* Let the page at @at be empty in the copy. Returns 0, or a negative errno, said. */
static int empty_page(struct search *s, uint64_t at)
{
	const long none = 0;
	int ret;

	at += s->format.commit_offset;
	if (s->copy < 0) {
		s->copy = report_copy(fileno(s->file), &none, sizeof(none), at);
		return s->copy < 0 ? s->copy : 0;
	}
	ret = trace_dat_write_at(s->copy, &none, sizeof(none), at);
	return ret ? complain(ABOUT_OUTPUT, ret, "a copy of what is there") : 0;
}

/* Returns 0, or a negative errno, said. */
static int look_at_cpu(struct search *s, const struct trace_region *region)
{
	uint64_t at = region->offset, end = region->offset + region->size;
	const ssize_t size = s->format.subbuf_size;
	int ret = 0;

	s->pages = 0;
	for (; at < end && !ret && !stop_signals(); at += size) {
		bool bad_head;

		if (pread(fileno(s->file), s->page, size, at) != size)
			break;
		bad_head = has_bad_head(s);
		if (!bad_head && !has_bad_records(s))
			continue;
		if (!s->pages++)
			s->first = at;
		if (bad_head)
			ret = empty_page(s, at);
	}
	return ret;
}

static int look_at_all(struct search *s, const struct trace_head_found *found,
		       const struct trace_region *table, const char *name)
{
	int damaged = 0, ret = 0;

	for (unsigned int cpu = 0; !ret && cpu < found->nr_cpus; cpu++) {
		ret = look_at_cpu(s, &table[cpu]);
		if (!s->pages)
			continue;
		damaged = 1;
		say("%s: the data of CPU %u are damaged, in %llu of %llu pages, first in the one at byte %llu: events of these are missing or wrong; copy the file once more from where it was recorded",
		    name, cpu, s->pages,
		    (unsigned long long)table[cpu].size / found->page_size, s->first);
	}
	return ret ? ret : damaged;
}

/*
 * Say of each CPU where its data are damaged. @copy: the descriptor of a copy of the file, or -1,
 * which is replaced if a copy is needed. Returns whether there is damage, or a negative errno,
 * said. Of a file without a table it is not known.
 */
static int find_damage(const struct head *head, const char *name, int *copy)
{
	struct search s = { .file = head->file, .copy = *copy };
	int ret = 0;

	if (!head->table)
		return 0;
	s.format = format_of(&head->found);
	s.page = malloc(head->found.page_size);
	if (s.page)
		ret = look_at_all(&s, &head->found, head->table, name);
	free(s.page);
	*copy = s.copy;
	return ret;
}

/* ---- All of it ---- */

int report_file_fix(const char *path, const char *name, bool piped, int *copy)
{
	struct head head;
	int ret = open_head(&head, path, name), damaged = 0;

	if (!ret)
		ret = find_cut(&head, name, piped, copy);
	damaged |= ret > 0;
	if (ret >= 0)
		ret = find_damage(&head, name, copy);
	damaged |= ret > 0;
	if (ret >= 0)
		ret = report_unpack(head.file, name, copy);
	free(head.table);
	if (head.file)
		fclose(head.file);
	return ret < 0 ? ret : damaged || ret;
}

/* ---- What libtracecmd and libtraceevent do not survive ---- */

static const struct output *printed;
static const unsigned long long *counted;
static char stack[1 << 16];	/* theirs may be at its end */

/* Lines that are whole are printed, and what was printed stays. */
static void on_fault(int sig)
{
	static const char what[] = "tracemap: the file is damaged behind event ";
	static const char then[] = ", as the library that reads it cannot go on: "
				   "copy it once more from where it was recorded\n";
	char digits[EVENT_DIGITS], *end = digits + sizeof(digits), *start;

	(void)sig;
	if (printed->line.text)
		write_all(printed->fd, printed->line.text, printed->start);
	start = event_decimal(end, *counted);
	write_all(STDERR_FILENO, what, strlen(what));
	write_all(STDERR_FILENO, start, end - start);
	write_all(STDERR_FILENO, then, strlen(then));
	_exit(EXIT_DAMAGED);
}

void report_survive(const struct output *out, const unsigned long long *events)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL };
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_RESETHAND };

	printed = out;
	counted = events;
	sigaltstack(&other, NULL);
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &sa, NULL);
}
