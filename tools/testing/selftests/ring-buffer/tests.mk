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

# These are to be run by hand, or in a guest of their own: lockdown_test locks the kernel
# down until the next boot, huge_test needs 10 GiB of memory, and pressure_test takes all
# there is, until the OOM killer comes.
TEST_GEN_PROGS_EXTENDED := \
	$(patsubst %.c,%,$(wildcard lockdown_test.c huge_test.c pressure_test.c))

# boot_test needs a kernel whose buffers nobody has used yet: it is the first of them.
TEST_GEN_PROGS := $(sort $(patsubst %.c,%,$(wildcard *_test.c)))
TEST_GEN_PROGS := $(filter-out compat_test $(TEST_GEN_PROGS_EXTENDED),$(TEST_GEN_PROGS))

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
