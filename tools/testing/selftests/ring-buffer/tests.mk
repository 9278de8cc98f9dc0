# SPDX-License-Identifier: GPL-2.0
#
# The tests here. Linux 6.12 has a Makefile of its own, which the series changes to include
# this.

# The macros of kselftest_harness.h compare what they are given, of any sign, and
# pointers of any size as 64-bit numbers; those of Linux 6.12 use vfork().
CFLAGS += -O2 -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-pointer-to-int-cast -Wno-unknown-warning-option -Wno-clobbered -Werror \
	$(KHDR_INCLUDES) -I../../../lib/tracemap
ifneq ($(shell grep __test_passed ../kselftest_harness.h),)
CFLAGS += -DHAVE_TEST_PASSED
endif

# How each test is run by the harness of the series. One without a line shares a guest with
# others: it has three CPUs, each with a thread of emulation, and the third has not come up yet.
# The other ways are:
#
#   first		the first program of its guest
#   by-hand		not among those that "make run_tests" runs
#   alone-FLAVOUR	in a guest of its own, on this flavour of the kernel only
#   failing		each allocation fails once: on the debug flavour only, with two CPUs, and only
#			where the tests that take hours are wanted
#   patching		the kernel patches its code: two CPUs, which share a thread of emulation
#   leaking		leaks are looked for, even where two of the four buffers are enough
#   lifetimes		on the debug flavour before the others, as it maps, resizes and removes
#   on-6.12		"make test" runs it on Linux 6.12, too

# It needs a kernel whose buffers nobody has used yet.
RUN_boot_test := first
# It locks the kernel down until the next boot.
RUN_lockdown_test := by-hand alone-debug
# It takes all memory, until the OOM killer comes.
RUN_pressure_test := by-hand alone-default
# It needs 10 GiB of memory.
RUN_huge_test := by-hand
RUN_fault_test := failing
RUN_snapshot_fault_test := failing
RUN_ftrace_fault_test := failing patching
RUN_ftrace_exclusion_test := patching
RUN_ftrace_live_test := patching
RUN_contention_test := lifetimes
RUN_lifetime_test := lifetimes leaking
RUN_live_history_test := lifetimes
RUN_live_map_test := lifetimes
RUN_subbuf_test := lifetimes
RUN_live_index_test := on-6.12
RUN_live_test := on-6.12
RUN_meta_test := on-6.12
RUN_mmap_test := on-6.12
RUN_reader_test := on-6.12

all_tests := $(sort $(patsubst %.c,%,$(wildcard *_test.c)))
TEST_GEN_PROGS_EXTENDED := $(foreach t,$(all_tests),$(if $(filter by-hand,$(RUN_$(t))),$(t)))
TEST_GEN_PROGS := $(filter-out compat_test $(TEST_GEN_PROGS_EXTENDED),$(all_tests))

# Static, where the C library can be linked so: a guest without one runs them, too. And a
# 32-bit program for the same machine, where a compiler can build it.
compiler := $(or $(CROSS_COMPILE:%=%gcc),$(CC))
machine := $(firstword $(subst -, ,$(shell $(compiler) -dumpmachine)))
compiler_x86_64 := i686-linux-gnu-gcc
compiler_aarch64 := arm-linux-gnueabihf-gcc
builds = $(shell echo 'int main(void) { return 0; }' | \
	$(1) -include errno.h -static -x c - -o /dev/null 2>/dev/null && echo '$(1)')
static := $(if $(call builds,$(compiler)),-static)
LDFLAGS += $(static)
ifndef CC32
CC32 := $(or $(call builds,$(compiler) -m32),$(call builds,$(compiler_$(machine))))
endif
ifneq ($(CC32),)
TEST_GEN_PROGS += $(patsubst %.c,%,$(wildcard compat_test.c))
else
$(warning no compiler for 32-bit programs: compat_test is not built)
endif

LOCAL_HDRS += $(wildcard *.h)

include ../lib.mk

SHARED := $(filter-out %_test.c,$(wildcard *.c))

$(OUTPUT)/compat_test: CC = $(CC32)
# A kernel with pages of 64 KiB runs it as well.
$(OUTPUT)/compat_test: LDFLAGS += -static -Wl,-z,max-page-size=65536
$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED): $(SHARED)
