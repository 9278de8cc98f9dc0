// SPDX-License-Identifier: GPL-2.0
/*
 * What the guest is that this runs in, in a line for test.sh's table, and
 * whether tracing came up in it.
 */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

int main(void)
{
	const unsigned short one = 1;
	struct utsname name;

	if (uname(&name) || access("/sys/kernel/tracing/trace_marker_raw", W_OK)) {
		perror("tracing");
		return 1;
	}
	printf("# machine: %s, pages of %ld KiB, words of %zu bytes, %s-endian, %ld CPUs\n",
	       name.machine, sysconf(_SC_PAGESIZE) / 1024, sizeof(long),
	       *(const char *)&one ? "little" : "big", sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}
