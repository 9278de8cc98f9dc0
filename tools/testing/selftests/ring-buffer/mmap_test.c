// SPDX-License-Identifier: GPL-2.0
/*
 * mmap() of trace_pipe_raw: its arguments, and the life of a mapping.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/elf.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "buffer_fixture.h"

FIXTURE(map) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
	struct tally		tally;
	int			fd;	/* trace_pipe_raw, read-only */
	int			rw_fd;	/* the same, opened for writing too */
	size_t			page;
	size_t			subbuf;
};

FIXTURE_VARIANT(map) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(map, top_level) TOP_LEVEL;
FIXTURE_VARIANT_ADD(map, top_level_large) TOP_LEVEL_LARGE;
FIXTURE_VARIANT_ADD(map, instance) INSTANCE;
FIXTURE_VARIANT_ADD(map, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(map)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	self->page = getpagesize();
	self->subbuf = self->ti.subbuf_kb * 1024;
	self->fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			    O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->rw_fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			       O_RDWR | O_NONBLOCK);
	ASSERT_LE(0, self->rw_fd);
}

FIXTURE_TEARDOWN(map)
{
	buffer_unmap(&self->mb);
	close(self->fd);
	close(self->rw_fd);
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int map_it(struct mapped_buffer *mb, struct trace_instance *ti)
{
	return buffer_map(mb, ti, ti->cpu, O_NONBLOCK);
}

/* Nothing holds this CPU's buffer: what a mapping excludes, works. */
static void expect_unmapped(struct __test_metadata *_metadata,
			    struct trace_instance *ti)
{
	EXPECT_EQ(0, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
				      4 * ti->subbuf_kb));
	EXPECT_EQ(0, instance_write_number(ti, "buffer_size_kb",
					   TEST_SUBBUFS * ti->subbuf_kb));
	EXPECT_EQ(0, instance_write(ti, "snapshot", "1"));
	EXPECT_EQ(0, instance_write(ti, "snapshot", "0"));
}

/* Something maps this CPU's buffer: both kinds of exclusion hold. */
static void expect_mapped(struct __test_metadata *_metadata,
			  struct trace_instance *ti)
{
	EXPECT_EQ(-EBUSY, cpu_write_number(ti, ti->cpu, "buffer_size_kb",
					   4 * ti->subbuf_kb));
	EXPECT_EQ(-EBUSY, instance_write(ti, "snapshot", "1"));
}

/* The bytes at @addr are those of the mapping, and so is what comes later. */
static void expect_intact(struct __test_metadata *_metadata,
			  struct trace_instance *ti, struct mapped_buffer *mb,
			  struct tally *tally)
{
	buffer_touch(mb);
	ASSERT_EQ(0, write_events(ti, 10, EVENT_LARGE));
	ASSERT_LT(0, tally_drain(tally, mb));
	EXPECT_TRUE(tally_exact(tally));
	EXPECT_EQ(ti->seq, tally->next);
}

/* "Offset 0 is the meta area; sub-buffer i starts at [...]" */
TEST_F(map, whole_buffer_maps_at_once)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
}

/* "A mapping may start at any sub-buffer boundary [...]" */
TEST_F(map, mapping_may_start_at_any_sub_buffer)
{
	unsigned int id;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	for (id = 0; id < self->mb.meta->nr_subbufs; id++) {
		size_t off = self->subbuf * (1 + id);
		char *part = mmap(NULL, self->mb.len - off, PROT_READ,
				  MAP_SHARED, self->fd, off);

		ASSERT_NE(MAP_FAILED, part);
		EXPECT_EQ(0, memcmp(part, buffer_subbuf(&self->mb, id),
				    self->mb.len - off));
		munmap(part, self->mb.len - off);
	}
}

/* "[...] and have any length up to the end" */
TEST_F(map, mapping_may_have_any_length_up_to_the_end)
{
	size_t len;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	for (len = self->page; len <= self->mb.len; len += self->page) {
		char *part = mmap(NULL, len, PROT_READ, MAP_SHARED, self->fd, 0);

		ASSERT_NE(MAP_FAILED, part);
		ASSERT_EQ(0, memcmp(part, self->mb.meta, len));
		munmap(part, len);
	}
}

/* The same when that is the first mapping, without any meta page. */
TEST_F(map, first_mapping_may_be_a_single_page_of_a_sub_buffer)
{
	EXPECT_EQ(0, map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
			       2 * self->subbuf));
	expect_unmapped(_metadata, &self->ti);
}

struct map_args {
	int			fd;
	size_t			len;
	int			prot;
	int			flags;
	unsigned long long	off;
};

/* Refused with @error, and so again when the buffer is mapped. */
static void expect_refused(struct __test_metadata *_metadata,
			   FIXTURE_DATA(map) * self, int error,
			   struct map_args a)
{
	EXPECT_EQ(error, map_error(a.fd, a.len, a.prot, a.flags, a.off));
	expect_unmapped(_metadata, &self->ti);
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	EXPECT_EQ(error, map_error(a.fd, a.len, a.prot, a.flags, a.off));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "private or exec -> EPERM" */
TEST_F(map, private_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_PRIVATE, 0 });
}

TEST_F(map, private_writable_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->fd, self->page, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0 });
}

TEST_F(map, exec_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->fd, self->page, PROT_READ | PROT_EXEC, MAP_SHARED, 0 });
}

/* "write -> EPERM" */
TEST_F(map, write_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->rw_fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, 0 });
}

/* "[...] or `EACCES` where the descriptor is read-only" */
TEST_F(map, write_mapping_of_a_read_only_descriptor_is_refused_with_EACCES)
{
	expect_refused(_metadata, self, EACCES, (struct map_args){
		self->fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, 0 });
}

/* "An offset inside a sub-buffer [...] -> EINVAL" */
TEST_F(map, offset_inside_a_sub_buffer_is_refused_with_EINVAL)
{
	size_t step = self->subbuf > self->page ? self->page : self->page / 2;

	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, self->subbuf + step });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, 2 * self->subbuf - step });
}

/* "[...] inside": the meta area is as long as a sub-buffer */
TEST_F(map, offset_inside_the_meta_area_is_refused_with_EINVAL)
{
	size_t step = self->subbuf > self->page ? self->page : self->page / 2;

	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, step });
}

/* The length of the whole, without leaving it mapped. */
static size_t whole_length(struct trace_instance *ti)
{
	struct mapped_buffer mb;

	if (map_it(&mb, ti))
		return 0;
	buffer_unmap(&mb);
	return mb.len;
}

/* "at or past the end" */
TEST_F(map, offset_at_the_end_is_refused_with_EINVAL)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, len });
}

TEST_F(map, offset_past_the_end_is_refused_with_EINVAL)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, len + self->subbuf });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->subbuf, PROT_READ, MAP_SHARED, len + 1000 * self->subbuf });
}

/* "or a length past the end" */
TEST_F(map, length_past_the_end_is_refused_with_EINVAL)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, len + self->page, PROT_READ, MAP_SHARED, 0 });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->subbuf + self->page, PROT_READ, MAP_SHARED, len - self->subbuf });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, len, PROT_READ, MAP_SHARED, self->subbuf });
}

TEST_F(map, huge_length_is_refused_with_EINVAL)
{
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, 1ULL << 32, PROT_READ, MAP_SHARED, 0 });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, (1ULL << 44) + self->page, PROT_READ, MAP_SHARED, self->subbuf });
}

/* Offsets for which sums or products of 32 or 64 bits wrap. */
static const unsigned long long wrapping_offsets[] = {
	1ULL << 32, 1ULL << 42, 1ULL << 43, 1ULL << 44, 1ULL << 48, 1ULL << 60,
	1ULL << 62, 1ULL << 63,
};

static bool is_einval_or_eoverflow(int err)
{
	return err == EINVAL || err == EOVERFLOW;
}

static void expect_wrapping_refused(struct __test_metadata *_metadata,
				    int fd, size_t subbuf, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrapping_offsets); i++) {
		unsigned long long off = wrapping_offsets[i];

		EXPECT_TRUE(is_einval_or_eoverflow(map_error(fd, len, PROT_READ,
							     MAP_SHARED, off)))
			TH_LOG("offset %#llx", off);
		EXPECT_TRUE(is_einval_or_eoverflow(map_error(fd, len, PROT_READ,
							     MAP_SHARED,
							     off - subbuf)))
			TH_LOG("offset %#llx", off - subbuf);
		EXPECT_TRUE(is_einval_or_eoverflow(map_error(fd, len, PROT_READ,
							     MAP_SHARED,
							     off + subbuf)))
			TH_LOG("offset %#llx", off + subbuf);
	}
	/* The largest offset: that of the last sub-buffer before the wrap. */
	EXPECT_TRUE(is_einval_or_eoverflow(map_error(fd, len, PROT_READ,
						     MAP_SHARED, -subbuf)));
}

/* "so large that arithmetic on it wraps [...] EINVAL (EOVERFLOW [...])" */
TEST_F(map, offset_that_wraps_is_refused)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, self->page);
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, len);
	expect_unmapped(_metadata, &self->ti);
}

/* "The same answers when the buffer is already mapped." */
TEST_F(map, offset_that_wraps_is_refused_when_already_mapped)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, self->page);
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, self->mb.len);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "`mprotect()` to write or exec -> EACCES for good" */
static void expect_protected(struct __test_metadata *_metadata,
			     struct mapped_buffer *mb)
{
	void *map = mb->meta;

	EXPECT_EQ(-1, mprotect(map, mb->len, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(map, mb->len, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(map, mb->len, PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(map, mprotect_to_write_or_exec_is_refused_with_EACCES_for_good)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	expect_protected(_metadata, &self->mb);
	/* whatever protection it is given in between */
	EXPECT_EQ(0, mprotect(self->mb.meta, self->mb.len, PROT_NONE));
	expect_protected(_metadata, &self->mb);
	EXPECT_EQ(0, mprotect(self->mb.meta, self->mb.len, PROT_READ));
	expect_protected(_metadata, &self->mb);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
}

TEST_F(map, mprotect_to_write_is_refused_for_a_writable_descriptor_too)
{
	void *map = mmap(NULL, self->page, PROT_READ, MAP_SHARED, self->rw_fd, 0);

	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(-1, mprotect(map, self->page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	munmap(map, self->page);
}

/* A child that stops, to be looked at, with the parent's mapping inherited. */
static pid_t fork_stopped_child(struct mapped_buffer *mb,
				struct trace_instance *ti)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* The parent's is not inherited: the child maps at the same place. */
	if (mmap(mb->meta, mb->len, PROT_READ, MAP_SHARED | MAP_FIXED,
		 mb->fd, 0) == MAP_FAILED)
		_exit(1);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	raise(SIGSTOP);
	_exit(0);
}

static int wait_stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? 0 : -1;
}

/* "Debuggers can read it (ptrace, [...])" */
TEST_F(map, debugger_reads_it_by_ptrace)
{
	unsigned char *subbuf;
	long word, seen;
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	pid = fork_stopped_child(&self->mb, &self->ti);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, wait_stopped(pid));
	errno = 0;
	seen = ptrace(PTRACE_PEEKDATA, pid, subbuf + SUBBUF_HEADER, NULL);
	EXPECT_EQ(0, errno);
	memcpy(&word, subbuf + SUBBUF_HEADER, sizeof(word));
	EXPECT_EQ(word, seen);
	EXPECT_EQ(0, kill_child(pid));
}

/* "writes by ptrace [...] fail" */
TEST_F(map, writes_by_ptrace_fail)
{
	unsigned char *subbuf, before[64];
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	memcpy(before, subbuf, sizeof(before));
	pid = fork_stopped_child(&self->mb, &self->ti);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, wait_stopped(pid));
	EXPECT_EQ(-1, ptrace(PTRACE_POKEDATA, pid, subbuf, 0));
	EXPECT_EQ(-1, ptrace(PTRACE_POKEDATA, pid, self->mb.meta, 0));
	EXPECT_EQ(0, memcmp(before, subbuf, sizeof(before)));
	EXPECT_EQ(0, kill_child(pid));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
}

/* "writes by [...] `/proc/PID/mem` fail" */
TEST_F(map, writes_by_proc_mem_fail)
{
	unsigned char *subbuf, before[64];
	int mem;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	memcpy(before, subbuf, sizeof(before));
	mem = open("/proc/self/mem", O_RDWR);
	ASSERT_LE(0, mem);
	EXPECT_EQ(-1, pwrite(mem, "12345678", 8, (off_t)(uintptr_t)subbuf));
	EXPECT_EQ(-1, pwrite(mem, "12345678", 8,
			     (off_t)(uintptr_t)self->mb.meta));
	close(mem);
	EXPECT_EQ(0, memcmp(before, subbuf, sizeof(before)));
}

TEST_F(map, writes_by_process_vm_writev_fail)
{
	unsigned char *subbuf;
	struct iovec local, remote;
	long long zero = 0;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	local.iov_base = &zero;
	remote.iov_base = subbuf;
	local.iov_len = sizeof(zero);
	remote.iov_len = sizeof(zero);
	EXPECT_EQ(-1, process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(EFAULT, errno);
}

/* "Debuggers can read it ([...] `process_vm_readv`)" */
TEST_F(map, debugger_reads_it_by_process_vm_readv)
{
	struct iovec local, remote;
	void *copy;
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	copy = malloc(self->mb.len);
	ASSERT_NE(NULL, copy);
	local.iov_base = copy;
	remote.iov_base = self->mb.meta;
	local.iov_len = self->mb.len;
	remote.iov_len = self->mb.len;
	pid = fork_stopped_child(&self->mb, &self->ti);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, wait_stopped(pid));
	EXPECT_EQ(self->mb.len,
		  process_vm_readv(pid, &local, 1, &remote, 1, 0));
	EXPECT_EQ(0, memcmp(copy, self->mb.meta, self->mb.len));
	EXPECT_EQ(0, kill_child(pid));
	free(copy);
}

TEST_F(map, debugger_reads_it_by_proc_mem)
{
	unsigned char copy[64], *subbuf;
	int mem;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	mem = open("/proc/self/mem", O_RDONLY);
	ASSERT_LE(0, mem);
	EXPECT_EQ(sizeof(copy), pread(mem, copy, sizeof(copy),
				      (off_t)(uintptr_t)subbuf));
	close(mem);
	EXPECT_EQ(0, memcmp(copy, subbuf, sizeof(copy)));
}

/* "A mapping is whole: no part of it can be unmapped, [...] (EINVAL [...])" */
TEST_F(map, no_part_can_be_unmapped)
{
	char *map;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	EXPECT_EQ(-1, munmap(map, self->page));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, munmap(map + self->subbuf, self->page));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, munmap(map + self->mb.len - self->page, self->page));
	EXPECT_EQ(EINVAL, errno);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/*
 * "[...] replaced [...]": by MAP_FIXED. The mm core of 6.1 answers ENOMEM for
 * whatever made it fail to unmap what is in the way.
 */
TEST_F(map, no_part_can_be_replaced_by_another_mapping)
{
	char *map;
	int i;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	for (i = 0; i < 3; i++) {
		size_t offs[] = {
			0, self->subbuf, self->mb.len - self->page
		};

		EXPECT_EQ(MAP_FAILED, mmap(map + offs[i], self->page, PROT_READ,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
					   -1, 0));
		EXPECT_TRUE(errno == EINVAL || errno == ENOMEM);
	}
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, no_part_can_be_replaced_by_remap_file_pages)
{
	char *map;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	EXPECT_EQ(-1, syscall(SYS_remap_file_pages, map + self->subbuf,
			      self->subbuf, 0, 0, 0));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "[...] or given other protection [...]" */
TEST_F(map, no_part_can_be_given_other_protection)
{
	char *map;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	EXPECT_EQ(-1, mprotect(map, self->page, PROT_NONE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, mprotect(map + self->subbuf, self->page, PROT_NONE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, mprotect(map + self->mb.len - self->page, self->page,
			       PROT_NONE));
	EXPECT_EQ(EINVAL, errno);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "[...] or advice that would split it" */
TEST_F(map, no_part_can_be_given_other_advice)
{
	static const int advices[] = {
		MADV_DOFORK, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WIPEONFORK,
	};
	char *map;
	size_t i;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	for (i = 0; i < ARRAY_SIZE(advices); i++) {
		EXPECT_EQ(-1, madvise(map, self->page, advices[i]));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(-1, madvise(map + self->subbuf, self->page, advices[i]));
		EXPECT_EQ(EINVAL, errno);
	}
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, it_does_not_shrink)
{
	char *map;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	EXPECT_EQ(MAP_FAILED, mremap(map, self->mb.len, self->page, 0));
	EXPECT_EQ(EINVAL, errno);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "It does not grow (EFAULT)" */
TEST_F(map, it_does_not_grow)
{
	char *map;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	EXPECT_EQ(MAP_FAILED, mremap(map, self->mb.len,
				     self->mb.len + self->page, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(MAP_FAILED, mremap(map, self->mb.len,
				     self->mb.len + self->subbuf,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "and is not duplicated": an old size of 0 asks for that */
TEST_F(map, it_is_not_duplicated)
{
	char *map;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	EXPECT_EQ(MAP_FAILED, mremap(map, 0, self->mb.len, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(map, self->mb.len, self->mb.len,
				     MREMAP_MAYMOVE | MREMAP_DONTUNMAP));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* "Moving it whole is either refused or leaves every count right." */
TEST_F(map, moving_it_whole_leaves_every_count_right)
{
	void *place, *moved;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	place = mmap(NULL, self->mb.len, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, place);
	moved = mremap(self->mb.meta, self->mb.len, self->mb.len,
		       MREMAP_MAYMOVE | MREMAP_FIXED, place);
	if (moved != MAP_FAILED)
		self->mb.meta = moved;
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	expect_mapped(_metadata, &self->ti);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* A part that is moved would split the mapping. */
TEST_F(map, no_part_can_be_moved)
{
	char *map;
	void *place;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	map = (char *)self->mb.meta;
	place = mmap(NULL, self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	ASSERT_NE(MAP_FAILED, place);
	EXPECT_EQ(MAP_FAILED, mremap(map + self->subbuf, self->page, self->page,
				     MREMAP_MAYMOVE | MREMAP_FIXED, place));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* A child that reads every page of its copy, then waits to be killed. */
static pid_t fork_reader(struct mapped_buffer *mb, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	buffer_touch(mb);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* "`fork()` does not inherit it." */
TEST_F(map, fork_does_not_inherit_it)
{
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, pipe(ready));
	pid = fork_reader(&self->mb, ready[1]);
	ASSERT_LT(0, pid);
	EXPECT_EQ(128 + SIGSEGV, child_status(pid, WOKEN_MS));
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, a_child_without_it_does_not_count)
{
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		for (;;)
			pause();
	}
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
}

/* "If a process asks for that (`MADV_DOFORK`), every copy counts [...]" */
TEST_F(map, a_copy_asked_for_counts_until_it_is_gone)
{
	char c;
	int ready[2];
	pid_t first, second;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	first = fork_reader(&self->mb, ready[1]);
	ASSERT_LT(0, first);
	second = fork_reader(&self->mb, ready[1]);
	ASSERT_LT(0, second);
	/* Both could read it. */
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(first));
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(second));
	expect_unmapped(_metadata, &self->ti);
}

/* "The mapping outlives `close(fd)`" */
TEST_F(map, it_outlives_close)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	close(self->mb.fd);
	close(self->fd);
	close(self->rw_fd);
	self->mb.fd = -1;
	expect_mapped(_metadata, &self->ti);
	self->mb.fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw",
			       O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->mb.fd);
	/* A descriptor that never mapped refreshes the mapping as well. */
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

TEST_F(map, it_goes_when_its_process_is_killed)
{
	char c;
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (map_it(&self->mb, &self->ti) ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* Leaves pages full of non-zero bytes for the kernel to allocate again. */
static void dirty_free_memory(void)
{
	size_t len = 32UL << 20;
	char *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return;
	memset(bytes, 0xa5, len);
	munmap(bytes, len);
}

/* "Pages pinned by vmsplice [...] outlive `munmap()` safely." */
TEST_F(map, pages_pinned_by_vmsplice_outlive_munmap)
{
	struct iovec iov;
	char *copy, *out;
	int pipes[2];
	size_t len;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	/* The pipe holds sixteen pages. */
	len = self->subbuf < 8 * self->page ? self->subbuf : 8 * self->page;
	copy = malloc(len);
	out = malloc(len);
	ASSERT_NE(NULL, copy);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(0, pipe(pipes));
	iov.iov_base = buffer_subbuf(&self->mb, 1);
	iov.iov_len = len;
	memcpy(copy, iov.iov_base, len);
	ASSERT_EQ(len, vmsplice(pipes[1], &iov, 1, 0));
	buffer_unmap(&self->mb);
	/* All sub-buffers are freed: nothing is to reuse the pages. */
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
	dirty_free_memory();
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(len, read(pipes[0], out, len));
	/* The header was reset with the buffer, before the pages went. */
	EXPECT_EQ(0, memcmp(copy + SUBBUF_HEADER, out + SUBBUF_HEADER,
			    len - SUBBUF_HEADER));
	close(pipes[0]);
	close(pipes[1]);
	free(copy);
	free(out);
}

/* Reads the meta page by direct I/O, until it is unmapped below. */
static pid_t fork_direct_writer(struct mapped_buffer *mb, int disk)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		if (pwrite(disk, buffer_subbuf(mb, 1), mb->meta->subbuf_size,
			   0) < 0)
			_exit(errno);
	}
}

/* "Pages pinned by [...] direct I/O outlive `munmap()` safely." */
TEST_F(map, pages_pinned_by_direct_io_outlive_munmap)
{
	int disk = open("/dev/ram0", O_RDWR | O_DIRECT);
	char *back;
	pid_t pid;

	ASSERT_LE(0, disk) TH_LOG("needs CONFIG_BLK_DEV_RAM");
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_EQ(self->subbuf, pwrite(disk, buffer_subbuf(&self->mb, 1),
				       self->subbuf, 0));
	back = aligned_alloc(self->page, self->subbuf);
	ASSERT_NE(NULL, back);
	ASSERT_EQ(self->subbuf, pread(disk, back, self->subbuf, 0));
	EXPECT_EQ(0, memcmp(back, buffer_subbuf(&self->mb, 1), self->subbuf));
	free(back);
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	pid = fork_direct_writer(&self->mb, disk);
	ASSERT_LT(0, pid);
	buffer_unmap(&self->mb);
	EXPECT_EQ(-EAGAIN, child_status(pid, 200));
	/* In the middle of a write, most likely. */
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
	close(disk);
}

/* The header of the segment that holds @addr in a core file, if any. */
static bool core_segment(int core, uintptr_t addr,
			 struct elf64_phdr *segment)
{
	struct elf64_hdr head;
	int i;

	if (pread(core, &head, sizeof(head), 0) != sizeof(head))
		return false;
	for (i = 0; i < head.e_phnum; i++) {
		off_t off = head.e_phoff + i * sizeof(*segment);

		if (pread(core, segment, sizeof(*segment), off) < 0)
			return false;
		if (segment->p_type == PT_LOAD && segment->p_vaddr <= addr &&
		    addr < segment->p_vaddr + segment->p_memsz)
			return true;
	}
	return false;
}

/* A child that dumps all kinds of memory it has, shared files included. */
static pid_t fork_dumper(struct mapped_buffer *mb)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (mmap(mb->meta, mb->len, PROT_READ, MAP_SHARED | MAP_FIXED,
		 mb->fd, 0) == MAP_FAILED ||
	    setrlimit(RLIMIT_CORE, &unlimited) ||
	    write_file("/proc/self/coredump_filter", "0x7f"))
		_exit(1);
	abort();
}

/* "core dumps leave it out" */
TEST_F(map, core_dumps_leave_it_out)
{
	char pattern[128], path[64];
	struct elf64_phdr segment;
	void *shared;
	int core;
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	/* What is dumped, to know that the dump is one. */
	shared = mmap(NULL, self->page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_LT(0, read_file("/proc/sys/kernel/core_pattern", pattern,
			       sizeof(pattern)));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/core_pattern",
				"/tmp/rbtest-core.%p"));
	pid = fork_dumper(&self->mb);
	EXPECT_EQ(128 + SIGABRT, child_status(pid, WOKEN_MS));
	EXPECT_EQ(0, write_file("/proc/sys/kernel/core_pattern", pattern));
	snprintf(path, sizeof(path), "/tmp/rbtest-core.%d", pid);
	core = open(path, O_RDONLY);
	ASSERT_LE(0, core) TH_LOG("no core dump at %s", path);
	unlink(path);
	ASSERT_TRUE(core_segment(core, (uintptr_t)shared, &segment));
	EXPECT_EQ(self->page, segment.p_filesz);
	if (core_segment(core, (uintptr_t)self->mb.meta, &segment))
		EXPECT_EQ(0, segment.p_filesz);
	close(core);
}

/* "`MADV_DONTNEED` hurts only its caller." */
TEST_F(map, madv_dontneed_hurts_only_its_caller)
{
	pid_t pid;
	int status;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct mapped_buffer own;

		if (map_it(&own, &self->ti))
			_exit(1);
		madvise(own.meta, own.len, MADV_DONTNEED);
		_exit(own.meta->nr_subbufs ? 0 : 2);
	}
	/* The caller may read what it mapped, or gets SIGBUS for it. */
	status = child_status(pid, WOKEN_MS);
	EXPECT_TRUE(status == 0 || status == 128 + SIGBUS)
		TH_LOG("child: %d", status);
	self->tally.unknown_loss = true;
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	madvise(self->mb.meta, self->mb.len, MADV_DONTNEED);
	expect_mapped(_metadata, &self->ti);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

static bool all_zero(const unsigned char *bytes, size_t len)
{
	while (len--) {
		if (*bytes++)
			return false;
	}
	return true;
}

/* "Memory a writer has never touched reads as zero" */
TEST_F(map, memory_never_written_reads_as_zero)
{
	unsigned int id;

	dirty_free_memory();
	/* All of it is allocated anew, in both ways there are. */
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "1"));
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "8192"));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	/* Sub-buffers 0 and 1 are of the old buffer, with nothing in them. */
	for (id = 2; id < self->mb.meta->nr_subbufs; id++)
		ASSERT_TRUE(all_zero(buffer_subbuf(&self->mb, id), self->subbuf))
			TH_LOG("sub-buffer %u", id);
}

TEST_F(map, memory_of_a_new_sub_buffer_size_reads_as_zero)
{
	unsigned int id, kb = 2 * self->ti.subbuf_kb;

	dirty_free_memory();
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "4096"));
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   kb));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	for (id = 0; id < self->mb.meta->nr_subbufs; id++)
		ASSERT_TRUE(all_zero(buffer_subbuf(&self->mb, id), kb * 1024))
			TH_LOG("sub-buffer %u", id);
}

TEST_F(map, rest_of_a_sub_buffer_being_written_reads_as_zero)
{
	unsigned char *subbuf;
	uint32_t end;

	dirty_free_memory();
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	ASSERT_LT(0, tally_get_reader(&self->tally, &self->mb));
	subbuf = buffer_subbuf(&self->mb, self->mb.meta->reader.id);
	end = SUBBUF_HEADER + self->mb.meta->reader.read;
	EXPECT_TRUE(all_zero(subbuf + end, 2 * self->subbuf - end));
}

/* "A failed `mmap()` leaves nothing behind: resize [...] work" */
static void fail_to_map(struct __test_metadata *_metadata, int fd, size_t page,
			size_t subbuf)
{
	EXPECT_EQ(EPERM, map_error(fd, page, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(EPERM, map_error(fd, page, PROT_READ | PROT_EXEC, MAP_SHARED,
				   0));
	EXPECT_EQ(EINVAL, map_error(fd, 1UL << 40, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, map_error(fd, page, PROT_READ, MAP_SHARED,
				    1000 * subbuf));
}

TEST_F(map, failed_mmap_leaves_resize_working)
{
	fail_to_map(_metadata, self->fd, self->page, self->subbuf);
	EXPECT_EQ(0, cpu_write_number(&self->ti, self->ti.cpu, "buffer_size_kb",
				      3 * self->ti.subbuf_kb));
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_size_kb",
					   5 * self->ti.subbuf_kb));
	EXPECT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   2 * self->ti.subbuf_kb));
}

/* "[...] snapshot [...] work as if it had not been tried" */
TEST_F(map, failed_mmap_leaves_snapshot_working)
{
	fail_to_map(_metadata, self->fd, self->page, self->subbuf);
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	EXPECT_EQ(0, instance_write(&self->ti,
				    "events/sched/sched_process_free/trigger",
				    "snapshot"));
	EXPECT_EQ(0, instance_write(&self->ti,
				    "events/sched/sched_process_free/trigger",
				    "!snapshot"));
}

/* mmap() refused because of a snapshot user is as if it had not been tried. */
TEST_F(map, mmap_refused_for_a_snapshot_user_leaves_nothing_behind)
{
	const char *trigger = "events/sched/sched_process_free/trigger";

	ASSERT_EQ(0, instance_write(&self->ti, trigger, "snapshot"));
	EXPECT_EQ(EBUSY, map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
				   0));
	EXPECT_EQ(EBUSY, map_error(self->fd, self->page, PROT_READ, MAP_SHARED,
				   0));
	EXPECT_EQ(0, instance_write(&self->ti, "snapshot", "1"));
	ASSERT_EQ(0, instance_write(&self->ti, trigger, "!snapshot"));
	expect_unmapped(_metadata, &self->ti);
	EXPECT_EQ(0, map_error(self->fd, self->page, PROT_READ, MAP_SHARED, 0));
}

/* GET_READER on a buffer whose mmap() failed: not mapped. */
TEST_F(map, failed_mmap_leaves_get_reader_answering_ENODEV)
{
	fail_to_map(_metadata, self->fd, self->page, self->subbuf);
	EXPECT_EQ(-1, ioctl(self->fd, TRACE_MMAP_IOCTL_GET_READER));
	EXPECT_EQ(ENODEV, errno);
}

/* Many mappings come and go; the last one leaves nothing. */
TEST_F(map, mappings_come_and_go_in_any_order)
{
	struct mapped_buffer mb[4];
	int round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 4; i++)
			ASSERT_EQ(0, map_it(&mb[i], &self->ti));
		for (i = 0; i < 4; i++) {
			expect_mapped(_metadata, &self->ti);
			buffer_unmap(&mb[(i + round) % 4]);
		}
		expect_unmapped(_metadata, &self->ti);
	}
}

/* Only instances can be removed. */
FIXTURE(removal) {
	struct trace_instance	ti;
	struct mapped_buffer	mb;
};

FIXTURE_VARIANT(removal) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(removal, instance) INSTANCE;
FIXTURE_VARIANT_ADD(removal, instance_large) INSTANCE_LARGE;

FIXTURE_SETUP(removal)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	self->mb.fd = -1;
	close(self->ti.marker);
	self->ti.marker = -1;
}

FIXTURE_TEARDOWN(removal)
{
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* "[...] keeps its instance alive (`rmdir` -> EBUSY)" */
TEST_F(removal, rmdir_of_a_mapped_instance_is_refused_with_EBUSY)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	/* The mapping outlives the descriptor, and so does the refusal. */
	close(self->mb.fd);
	self->mb.fd = -1;
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_LT(2, self->mb.meta->nr_subbufs);
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

TEST_F(removal, rmdir_is_refused_until_the_last_copy_is_gone)
{
	char c;
	int ready[2];
	pid_t pid;

	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, madvise(self->mb.meta, self->mb.len, MADV_DOFORK));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->mb.fd);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	buffer_unmap(&self->mb);
	EXPECT_EQ(-1, rmdir(self->ti.dir));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

/* "A failed `mmap()` leaves nothing behind: [...] rmdir work" */
TEST_F(removal, failed_mmap_leaves_rmdir_working)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);

	ASSERT_LE(0, fd);
	fail_to_map(_metadata, fd, getpagesize(), self->ti.subbuf_kb * 1024);
	close(fd);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
}

/* Pages pinned outlive even their instance. */
TEST_F(removal, pages_pinned_by_vmsplice_outlive_the_instance)
{
	size_t page = getpagesize();
	char *copy = malloc(page), *out = malloc(page);
	struct iovec iov;
	int pipes[2];

	ASSERT_NE(NULL, copy);
	ASSERT_NE(NULL, out);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	iov.iov_base = buffer_subbuf(&self->mb, 2);
	iov.iov_len = page;
	memcpy(copy, iov.iov_base, page);
	ASSERT_EQ(page, vmsplice(pipes[1], &iov, 1, 0));
	buffer_unmap(&self->mb);
	EXPECT_EQ(0, rmdir(self->ti.dir));
	instance_forget(&self->ti);
	dirty_free_memory();
	ASSERT_EQ(page, read(pipes[0], out, page));
	EXPECT_EQ(0, memcmp(copy, out, page));
	free(copy);
	free(out);
}

TEST_HARNESS_MAIN
