// SPDX-License-Identifier: GPL-2.0
/*
 * mmap() of trace_pipe_raw: its arguments, who may write or read, and what may
 * be done to a mapping.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "map_fixture.h"

/* Every page of it is where it belongs: each sub-buffer holds the events it should. */
static void map_and_fill(struct __test_metadata *_metadata, FIXTURE_DATA(map) * self)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_LE(self->mb.meta->nr_subbufs - 1, tally_drain(&self->tally, &self->mb));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(self->ti.seq, self->tally.next);
	EXPECT_EQ(self->ti.seq, self->tally.seen + self->tally.lost);
}

/* MAP-2 */
TEST_F(map, whole_buffer_maps_at_once)
{
	map_and_fill(_metadata, self);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
}

/* MAP-5 */
TEST_F(map, mapping_may_start_at_any_sub_buffer)
{
	unsigned int id;

	map_and_fill(_metadata, self);
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

/* MAP-5 */
TEST_F(map, mapping_may_have_any_length_up_to_the_end)
{
	size_t len;

	map_and_fill(_metadata, self);
	for (len = self->page; len <= self->mb.len; len += self->page) {
		char *part = mmap(NULL, len, PROT_READ, MAP_SHARED, self->fd, 0);

		ASSERT_NE(MAP_FAILED, part);
		ASSERT_EQ(0, memcmp(part, self->mb.meta, len));
		munmap(part, len);
	}
}

/* MAP-5: The same when that is the first mapping, without any meta page. */
TEST_F(map, first_mapping_may_be_a_single_page_of_a_sub_buffer)
{
	unsigned char *first = mmap(NULL, self->page, PROT_READ, MAP_SHARED, self->fd,
				    2 * self->subbuf);

	ASSERT_NE(MAP_FAILED, first);
	/* It is the head of the ring, where the writer begins. */
	ASSERT_EQ(0, write_events(&self->ti, 3, EVENT_LARGE));
	tally_data(&self->tally, first + SUBBUF_HEADER, 0, subbuf_commit(first));
	EXPECT_TRUE(tally_exact(&self->tally));
	EXPECT_EQ(3, self->tally.seen);
	expect_mapped(_metadata, &self->ti);
	munmap(first, self->page);
	expect_unmapped(_metadata, &self->ti);
}

/* MAP-6: A signal that comes meanwhile, and does not kill, is no obstacle. */
TEST_F(map, a_large_buffer_maps_beside_signals)
{
	size_t len;

	ASSERT_EQ(0, cpu_write(&self->ti, self->ti.cpu, "buffer_size_kb", "32768"));
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	len = self->mb.len;
	buffer_unmap(&self->mb);
	map_beside_signals(_metadata, self->fd, len);
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

/* MAP-7, MAP-13 */
TEST_F(map, private_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_PRIVATE, 0 });
}

/* MAP-7 */
TEST_F(map, private_writable_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->fd, self->page, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0 });
}

/* MAP-7 */
TEST_F(map, exec_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->fd, self->page, PROT_READ | PROT_EXEC, MAP_SHARED, 0 });
}

/* MAP-8 */
TEST_F(map, write_mapping_is_refused_with_EPERM)
{
	expect_refused(_metadata, self, EPERM, (struct map_args){
		self->rw_fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, 0 });
}

/* MAP-8 */
TEST_F(map, write_mapping_of_a_read_only_descriptor_is_refused_with_EACCES)
{
	expect_refused(_metadata, self, EACCES, (struct map_args){
		self->fd, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, 0 });
}

/* MAP-11, MAP-13 */
TEST_F(map, offset_inside_a_sub_buffer_is_refused_with_EINVAL)
{
	size_t step = self->subbuf > self->page ? self->page : self->page / 2;

	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, self->subbuf + step });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, 2 * self->subbuf - step });
}

/* MAP-11: the meta area is as long as a sub-buffer */
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

/* MAP-11 */
TEST_F(map, offset_at_the_end_is_refused_with_EINVAL)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, len });
}

/* MAP-11 */
TEST_F(map, offset_past_the_end_is_refused_with_EINVAL)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->page, PROT_READ, MAP_SHARED, len + self->subbuf });
	expect_refused(_metadata, self, EINVAL, (struct map_args){
		self->fd, self->subbuf, PROT_READ, MAP_SHARED, len + 1000 * self->subbuf });
}

/* MAP-11, MAP-13 */
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

/* MAP-11 */
TEST_F(map, huge_length_is_refused_with_EINVAL)
{
	size_t lens[] = { huge_length(32), huge_length(44) + self->page };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		expect_refused(_metadata, self, EINVAL, (struct map_args){
			self->fd, lens[i], PROT_READ, MAP_SHARED, i * self->subbuf });
}

/* Offsets for which sums or products of 32 or 64 bits wrap. */
static const unsigned long long wrapping_offsets[] = {
	1ULL << 32, 1ULL << 42, 3ULL << 43, 1ULL << 44, 1ULL << 48, 1ULL << 60,
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

/* MAP-12 */
TEST_F(map, offset_that_wraps_is_refused)
{
	size_t len = whole_length(&self->ti);

	ASSERT_LT(0, len);
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, self->page);
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, len);
	expect_unmapped(_metadata, &self->ti);
}

/* MAP-13 */
TEST_F(map, offset_that_wraps_is_refused_when_already_mapped)
{
	ASSERT_EQ(0, map_it(&self->mb, &self->ti));
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, self->page);
	expect_wrapping_refused(_metadata, self->fd, self->subbuf, self->mb.len);
	expect_intact(_metadata, &self->ti, &self->mb, &self->tally);
	buffer_unmap(&self->mb);
	expect_unmapped(_metadata, &self->ti);
}

/* No page of the mapping becomes writable or executable. */
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

/* MAP-9 */
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

/* MAP-9 */
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

/* MAP-24 */
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

/* MAP-10 */
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

/* MAP-10 */
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

/* MAP-10 */
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

/* MAP-24 */
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

/* MAP-24 */
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

/* MAP-15 */
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
 * MAP-15: by MAP_FIXED. The mm core of 6.1 answers ENOMEM for whatever made it fail to
 * unmap what is in the way.
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

/* MAP-15 */
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

/* MAP-15 */
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

/* MAP-15 */
TEST_F(map, no_part_can_be_given_other_advice)
{
	static const int advices[] = { MADV_DOFORK, MADV_RANDOM, MADV_SEQUENTIAL };
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

/* MAP-15 */
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

/* MAP-16 */
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

/* MAP-16: an old size of 0 asks for that */
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

/* MAP-17 */
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

/* MAP-15: A part that is moved would split the mapping. */
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

TEST_HARNESS_MAIN
