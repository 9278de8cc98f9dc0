// SPDX-License-Identifier: GPL-2.0
/*
 * What an ordinary user can do with the trace: nothing by default; with access
 * given to a group, read it by read(2) or by a mapping, and hold off for a while
 * what a mapping holds off: see "Security" in ring-buffer-live.rst.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "buffer_fixture.h"
#include "user.h"
#include "watcher.h"

/* Numbers of the events that nobody is to see any more. */
#define OLD_EVENTS	0x40000000u

/*
 * What users do: 0 or a negative errno. Each opens the instance's files itself.
 */
static int open_it(struct trace_instance *ti)
{
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);

	return fd < 0 ? fd : 0;
}

static int open_it_for_writing(struct trace_instance *ti)
{
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDWR);

	return fd < 0 ? fd : 0;
}

static int look_it_up(struct trace_instance *ti)
{
	struct stat st;

	return stat(ti->dir[sizeof(TRACEFS_DIR) - 1] ? ti->dir :
		    TRACEFS_DIR "/per_cpu", &st) ? -errno : 0;
}

static int list_it(struct trace_instance *ti)
{
	int fd = open(TRACEFS_DIR, O_RDONLY | O_DIRECTORY);

	return fd < 0 ? -errno : 0;
}

static int list_debugfs(struct trace_instance *ti)
{
	int fd = open("/sys/kernel/debug/tracing", O_RDONLY | O_DIRECTORY);

	return fd < 0 ? -errno : 0;
}

static int mount_tracefs_as_root_of_a_namespace(struct trace_instance *ti)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -ECANCELED;
	return mount("tracefs", "/tmp", "tracefs", 0, NULL) ? -errno : 0;
}

static int open_it_as_root_of_a_namespace(struct trace_instance *ti)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %d 1", ORDINARY_USER);
	if (unshare(CLONE_NEWUSER) || write_file("/proc/self/uid_map", map) ||
	    getuid())
		return -ECANCELED;
	return open_it(ti);
}

FIXTURE(user) {
	struct trace_instance	ti;
};

FIXTURE_VARIANT(user) {
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(user, top_level) TOP_LEVEL;
#ifndef TWO_BUFFERS
FIXTURE_VARIANT_ADD(user, instance_large) INSTANCE_LARGE;
#endif

FIXTURE_SETUP(user)
{
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
}

FIXTURE_TEARDOWN(user)
{
	EXPECT_EQ(0, instance_close(&self->ti));
}

/* USER-1: not even that there is a file is to be learned. */
TEST_F(user, by_default_nobody_else_opens_anything)
{
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, open_it));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, look_it_up));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, list_it));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, list_debugfs));
}

/* USER-1 */
TEST_F(user, root_of_a_user_namespace_is_an_ordinary_user)
{
	EXPECT_EQ(-EPERM, user_does(&self->ti, TRACE_GROUP,
				    mount_tracefs_as_root_of_a_namespace));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP,
				     open_it_as_root_of_a_namespace));
}

/* With access given to a group, in the ways there are. */
FIXTURE(member) {
	struct trace_instance	ti;
	bool			by_mount;
	int			ready[2];
};

FIXTURE_VARIANT(member) {
	bool		by_mount;
	bool		top;
	unsigned int	subbuf_kb;
};

FIXTURE_VARIANT_ADD(member, by_mount_top_level) {
	.by_mount = true,
	.top = true,
};

/* An instance takes its time to come and go where a kernel is slow. */
#ifdef TWO_BUFFERS
FIXTURE_VARIANT_ADD(member, by_chgrp_top_level_large) {
	.top = true,
	.subbuf_kb = 16,
};
#else
FIXTURE_VARIANT_ADD(member, by_chgrp_instance_large) {
	.subbuf_kb = 16,
};
#endif

static int grant(FIXTURE_DATA(member) * self, bool granted)
{
	return self->by_mount ? grant_by_mount(granted) :
				grant_by_chgrp(&self->ti, granted);
}

FIXTURE_SETUP(member)
{
	self->by_mount = variant->by_mount;
	ASSERT_EQ(0, instance_open(&self->ti, variant->top, variant->subbuf_kb));
	ASSERT_EQ(0, pipe(self->ready));
	ASSERT_EQ(0, grant(self, true));
}

FIXTURE_TEARDOWN(member)
{
	EXPECT_EQ(0, grant(self, false));
	EXPECT_EQ(0, instance_close(&self->ti));
}

static int map_and_read_all(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	struct tally tally = { .seen = 0 };
	int err = map_it(&mb, ti);

	if (err)
		return err;
	if (tally_drain(&tally, &mb) < 0)
		return -EIO;
	return tally_exact(&tally) && tally.seen + tally.lost == ti->seq ?
		0 : -EBADMSG;
}

static int map_and_watch_all(struct trace_instance *ti)
{
	struct watcher w;
	int err = watcher_open(&w, ti, ti->cpu, LIVE_FROM_OLDEST);

	if (err)
		return err;
	if (watch(&w) < 0)
		return -EIO;
	if (!watcher_exact(&w) || w.o.count != ti->seq)
		return -EBADMSG;
	return watcher_wait(&w, 1);
}

/* USER-2 */
TEST_F(member, the_group_maps_consumes_and_watches)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, map_and_watch_all));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, map_and_read_all));
	/* Who is not of the group is who he was. */
	EXPECT_EQ(-EACCES, user_does(&self->ti, ORDINARY_GROUP, open_it));
	EXPECT_EQ(-EACCES, user_does(&self->ti, ORDINARY_GROUP, look_it_up));
}

static int watch_and_nothing_else(struct trace_instance *ti)
{
	if (open_it(ti) != -EACCES || list_it(ti) != -EACCES ||
	    cpu_file(ti, ti->cpu, "stats", O_RDONLY) != -EACCES)
		return -EEXIST;
	return map_and_watch_all(ti);
}

/* USER-9 */
TEST_F(user, a_watcher_can_be_given_trace_live_alone)
{
	ASSERT_EQ(0, grant_watching(&self->ti, true));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, watch_and_nothing_else));
	EXPECT_EQ(-EACCES, user_does(&self->ti, ORDINARY_GROUP, map_and_watch_all));
	EXPECT_EQ(0, grant_watching(&self->ti, false));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, map_and_watch_all));
}

static const char * const controls[] = {
	"buffer_percent", "buffer_size_kb", "buffer_subbuf_size_kb",
	"current_tracer", "events/enable", "free_buffer", "options/overwrite",
	"set_event", "snapshot", "trace", "trace_clock", "tracing_cpumask",
	"tracing_on",
};

static int open_a_control(struct trace_instance *ti)
{
	size_t i;
	int fd;

	for (i = 0; i < sizeof(controls) / sizeof(*controls); i++) {
		fd = instance_file(ti, controls[i], O_WRONLY);
		if (fd != -EACCES)
			return fd < 0 ? fd : 0;
	}
	fd = cpu_file(ti, ti->cpu, "buffer_size_kb", O_WRONLY);
	if (fd != -EACCES)
		return fd < 0 ? fd : 0;
	fd = cpu_file(ti, ti->cpu, "trace", O_WRONLY);
	return fd < 0 ? fd : 0;
}

static int make_an_instance(struct trace_instance *ti)
{
	return mkdir(TRACEFS_DIR "/instances/rbtest-user", 0755) ? -errno : 0;
}

static int remove_the_instance(struct trace_instance *ti)
{
	return rmdir(ti->dir) ? -errno : 0;
}

static int map_it_writable(struct trace_instance *ti)
{
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY);

	return fd < 0 ? fd : -map_error(fd, getpagesize(),
					PROT_READ | PROT_WRITE, MAP_SHARED, 0);
}

static int make_it_writable(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	int err = map_it(&mb, ti);

	if (err)
		return err;
	return mprotect(mb.meta, mb.len, PROT_READ | PROT_WRITE) ? -errno : 0;
}

static int open_the_marker(struct trace_instance *ti)
{
	int fd = instance_file(ti, "trace_marker", O_WRONLY);

	return fd < 0 ? fd : 0;
}

/* USER-2: all it may write is a marker, where it has the whole. */
TEST_F(member, the_group_sets_nothing)
{
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, open_a_control));
	EXPECT_EQ(self->by_mount ? 0 : -EACCES,
		  user_does(&self->ti, TRACE_GROUP, open_the_marker));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, make_an_instance));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP,
				     open_it_for_writing));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, map_it_writable));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, make_it_writable));
	if (!self->ti.top)
		EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP,
					     remove_the_instance));
}

/* read(2) leaves the bytes it has copied where the mapping shows them. */
static int compare_with_read(struct trace_instance *ti)
{
	size_t len = ti->subbuf_kb * 1024;
	unsigned char *page = calloc(1, len);
	struct mapped_buffer mb;
	int err = map_it(&mb, ti), pages = 0;

	if (err || !page)
		return err ?: -ENOMEM;
	while (read(mb.fd, page, len) > 0) {
		unsigned char *subbuf = buffer_subbuf(&mb, mb.meta->reader.id);
		uint32_t end = subbuf_commit(page) & COMMIT_LENGTH;

		if (memcmp(page, subbuf, 8) ||
		    memcmp(page + SUBBUF_HEADER, subbuf + SUBBUF_HEADER, end))
			return -EBADMSG;
		pages++;
	}
	return pages < TEST_SUBBUFS ? -ENODATA : 0;
}

/* USER-3 */
TEST_F(member, the_mapping_shows_the_bytes_that_read_gives)
{
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, compare_with_read));
}

/* How many events of a number from @first on lie anywhere in the mapping. */
static long count_from(const struct mapped_buffer *mb, uint32_t first)
{
	const unsigned char *bytes = (const unsigned char *)mb->meta;
	struct event_payload payload;
	long count = 0;
	size_t i;

	for (i = 0; i + sizeof(payload) <= mb->len; i += 4) {
		memcpy(&payload, bytes + i, sizeof(payload));
		count += payload.tag == EVENT_TAG && payload.seq >= first;
	}
	return count;
}

static int look_for_old_events(struct trace_instance *ti)
{
	struct mapped_buffer mb;
	int err = map_it(&mb, ti);

	if (err)
		return err;
	return count_from(&mb, OLD_EVENTS) ? -EEXIST : 0;
}

/* An instance, full of old events, whose memory is free afterwards. */
static int fill_and_remove_another(unsigned int subbuf_kb)
{
	struct trace_instance other;
	int err = instance_open(&other, false, subbuf_kb);

	if (err)
		return err;
	other.seq = OLD_EVENTS;
	if (instance_write(&other, "buffer_size_kb", "512") ||
	    write_bytes(&other, 1 << 20, EVENT_LARGE) < 0)
		err = -EIO;
	return instance_close(&other) ?: err;
}

/* USER-4: what another instance had is not seen. */
TEST_F(member, nothing_of_another_instance_is_seen)
{
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "8"));
	ASSERT_EQ(0, fill_and_remove_another(self->ti.subbuf_kb));
	/* In the memory that was freed, most likely. */
	ASSERT_EQ(0, instance_write(&self->ti, "buffer_size_kb", "512"));
	ASSERT_EQ(0, run_on_cpu(self->ti.cpu));
	ASSERT_LT(0, write_bytes(&self->ti, 256 << 10, EVENT_LARGE));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, look_for_old_events));
}

static int fill_with_old_events(struct trace_instance *ti)
{
	ti->seq = OLD_EVENTS;
	if (overflow_buffer(ti) < 0)
		return -EIO;
	ti->seq = 0;
	return instance_write(ti, "trace", "");
}

static int read_for_old_events(struct trace_instance *ti)
{
	size_t len = ti->subbuf_kb * 1024;
	unsigned char *page = calloc(1, len);
	int fd = cpu_file(ti, ti->cpu, "trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	struct mapped_buffer as_read = { .meta = (void *)page, .len = len };

	if (fd < 0 || !page)
		return fd < 0 ? fd : -ENOMEM;
	while (read(fd, page, len) > 0) {
		if (count_from(&as_read, OLD_EVENTS))
			return -EEXIST;
	}
	return 0;
}

/*
 * USER-5: what is no event of the buffer any more is not given by read(2), but seen in
 * a mapping until it is written over.
 */
TEST_F(member, what_was_emptied_is_seen_until_it_is_written_over)
{
	ASSERT_EQ(0, fill_with_old_events(&self->ti));
	ASSERT_EQ(0, write_events(&self->ti, 10, EVENT_LARGE));
	EXPECT_EQ(-EEXIST, user_does(&self->ti, TRACE_GROUP,
				     look_for_old_events));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, read_for_old_events));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	ASSERT_LT(0, overflow_buffer(&self->ti));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, look_for_old_events));
}

/* USER-5 */
TEST_F(member, another_sub_buffer_size_erases_what_was)
{
	const char *file = "buffer_subbuf_size_kb";
	unsigned int kb = self->ti.subbuf_kb;

	ASSERT_EQ(0, fill_with_old_events(&self->ti));
	ASSERT_EQ(0, instance_write_number(&self->ti, file, 2 * kb));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, look_for_old_events));
	ASSERT_EQ(0, instance_write_number(&self->ti, file, kb));
	EXPECT_EQ(0, user_does(&self->ti, TRACE_GROUP, look_for_old_events));
}

/* A user who observes, and maps all there is to map if @maps, and stays. */
static pid_t fork_holder(FIXTURE_DATA(member) * self, bool maps)
{
	struct mapped_buffer mb;
	struct watcher w;
	char c = 0;
	pid_t pid = fork_user(TRACE_GROUP);

	if (pid)
		return pid > 0 && read(self->ready[0], &c, 1) == 1 && c == 'r' ?
			pid : -1;
	if ((!maps || !map_it(&mb, &self->ti)) &&
	    !watcher_open(&w, &self->ti, self->ti.cpu, LIVE_FROM_NOW))
		c = 'r';
	if (write(self->ready[1], &c, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* What the mapping, or the observer, holds off is refused. */
static void expect_held_off(struct __test_metadata *_metadata,
			    struct trace_instance *ti)
{
	expect_mapped(_metadata, ti);
	EXPECT_EQ(-EBUSY, instance_write(ti, "buffer_size_kb", "8"));
	EXPECT_EQ(-EBUSY, instance_write_number(ti, "buffer_subbuf_size_kb",
						2 * ti->subbuf_kb));
	EXPECT_EQ(-EBUSY, instance_write(ti, "current_tracer", "function"));
	if (ti->top) {
		EXPECT_EQ(-EBUSY, instance_write(ti, "current_tracer", "wakeup"));
	} else {
		EXPECT_EQ(-1, rmdir(ti->dir));
		EXPECT_EQ(EBUSY, errno);
	}
}

/* Nothing else is refused. */
static void expect_not_held_off(struct __test_metadata *_metadata,
				struct trace_instance *ti)
{
	struct trace_instance other;

	EXPECT_EQ(0, instance_write(ti, "tracing_on", "0"));
	EXPECT_EQ(0, instance_write(ti, "tracing_on", "1"));
	EXPECT_EQ(0, instance_write(ti, "events/sched/enable", "1"));
	EXPECT_EQ(0, instance_write(ti, "events/sched/enable", "0"));
	EXPECT_EQ(0, instance_write(ti, "options/overwrite", "0"));
	EXPECT_EQ(0, instance_write(ti, "options/overwrite", "1"));
	EXPECT_EQ(0, instance_write(ti, "trace_clock", "local"));
	EXPECT_EQ(0, instance_write(ti, "trace", ""));
	EXPECT_LT(0, overflow_buffer(ti));
	EXPECT_EQ(0, switch_cpu_online(ti->cpu, false));
	EXPECT_EQ(0, switch_cpu_online(ti->cpu, true));
	ASSERT_EQ(0, instance_open(&other, false, 0));
	expect_unmapped(_metadata, &other);
	EXPECT_EQ(0, instance_close(&other));
	ASSERT_EQ(0, run_on_cpu(ti->cpu));
}

/* USER-6 */
TEST_F(member, what_a_holder_holds_off_root_ends)
{
	pid_t pid = fork_holder(self, true);

	ASSERT_LT(0, pid);
	expect_held_off(_metadata, &self->ti);
	expect_not_held_off(_metadata, &self->ti);
	EXPECT_EQ(pid, find_mapper(&self->ti));
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, find_mapper(&self->ti));
	expect_unmapped(_metadata, &self->ti);
}

/* USER-6: Less than a mapping of trace_pipe_raw: the tracer may be another. */
TEST_F(member, what_an_observer_holds_off_root_ends)
{
	pid_t pid = fork_holder(self, false);

	ASSERT_LT(0, pid);
	expect_mapped(_metadata, &self->ti);
	if (self->ti.top)
		EXPECT_EQ(-EBUSY, instance_write(&self->ti, "current_tracer", "wakeup"));
	expect_not_held_off(_metadata, &self->ti);
	EXPECT_EQ(pid, find_mapper(&self->ti));
	EXPECT_EQ(0, kill_child(pid));
	EXPECT_EQ(0, find_mapper(&self->ti));
	expect_unmapped(_metadata, &self->ti);
}

/* USER-7 */
TEST_F(member, access_taken_back_does_not_end_a_mapping)
{
	pid_t pid = fork_holder(self, true);

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, grant(self, false));
	EXPECT_EQ(-EACCES, user_does(&self->ti, TRACE_GROUP, open_it));
	expect_mapped(_metadata, &self->ti);
	EXPECT_EQ(0, kill_child(pid));
	expect_unmapped(_metadata, &self->ti);
}

/* USER-7: here to a child. */
TEST_F(member, a_descriptor_passed_on_is_access_passed_on)
{
	int fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	pid_t pid;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, grant(self, false));
	pid = fork_user(ORDINARY_GROUP);
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(map_error(fd, getpagesize(), PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(0, child_status(pid, WOKEN_MS));
	close(fd);
}

static long long free_kb(void)
{
	char text[4096], *line;

	if (read_file("/proc/meminfo", text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, "MemFree:");
	return line ? strtoll(line + strlen("MemFree:"), NULL, 10) : -1;
}

/* COST-4 */
TEST_F(member, many_mappings_take_the_memory_of_one)
{
	const size_t count = 500, subbuf = LARGE_SUBBUF_KB * 1024;
	const long long each_its_own = count * LARGE_SUBBUF_KB;
	long long before, after;
	char *area;
	size_t i;
	int fd;

	/* Large enough to be told from what else takes memory meanwhile. */
	ASSERT_EQ(0, instance_write_number(&self->ti, "buffer_subbuf_size_kb",
					   LARGE_SUBBUF_KB));
	fd = cpu_file(&self->ti, self->ti.cpu, "trace_pipe_raw", O_RDONLY);
	ASSERT_LE(0, fd);
	area = mmap(NULL, count * subbuf, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, area);
	/* The first one is to pay. */
	ASSERT_NE(MAP_FAILED, mmap(area, subbuf, PROT_READ,
				   MAP_SHARED | MAP_FIXED, fd, 0));
	before = free_kb();
	ASSERT_LT(0, before);
	for (i = 1; i < count; i++)
		ASSERT_NE(MAP_FAILED, mmap(area + i * subbuf, subbuf, PROT_READ,
					   MAP_SHARED | MAP_FIXED, fd, 0));
	after = free_kb();
	ASSERT_LT(0, after);
	/* Less than none was taken where something else was freed. */
	EXPECT_GT(each_its_own, before - after);
	munmap(area, count * subbuf);
	close(fd);
}

TEST_HARNESS_MAIN
