# SPDX-License-Identifier: GPL-2.0
#
# The verbs. Each is a script in tools/harness; "make" says what there is.

harness := tools/harness

# The command goes to the guest's shell as it was typed, "$" and all.
export CMD_AS_TYPED := $(value CMD)

help:		## what can be done (this)
	@sed -n 's/^\([a-z-]*\):[^#]*## /  \1\t/p' Makefile | expand -t 20
	@echo
	@echo 'Variables: ARCH=arm64 (for make test: a file of $(harness)/arch)'
	@echo '           MINUTES=55 (make test goes on with what it leaves out, and begins nothing after that)'
	@echo '           FLAVOUR=default|debug SMP=2 MEM=1G ACCEL=auto|kvm|tcg LIMIT=seconds'
	@echo '           WITH=dir (its files are in /host)  OUT=dir (what the guest leaves in /out comes there)'
	@echo '           GDB=1 (the guest waits for gdb)  GDB=symbols (splats name files and lines)'
	@echo '           CONFIG=cloud|trimmed (of make deb)'
	@echo '           BASE=6.1|6.12 (its faults mended)  KERNEL_SRC=dir (your own tree of that base)'
	@echo '           CACHE=dir (default ~/.cache/trace-ring-map)'

demo: packages	## boot the kernel and stream its events with the tracemap command
	@$(harness)/verbs/demo.sh

test: packages-test	## what finds most in 20 minutes, with a summary; ARCH=arm64: on that machine
	@MINUTES='$(MINUTES)' $(harness)/verbs/test.sh $(if $(filter-out x86_64,$(ARCH)),arch $(ARCH))

quick: packages-test	## in a minute: library, command, a suite of KUnit, the files that you changed
	@$(harness)/verbs/test.sh quick

check: packages-test	## the files: series, checkpatch, sparse, documents, ...
	@$(harness)/verbs/test.sh check

promises:	## which tests prove which promise, into build/promises.md
	@mkdir -p build
	@$(harness)/verbs/promises.py . table >build/promises.md && echo build/promises.md

kunit: packages-test	## the KUnit tests of the ring buffer, at native speed (builds a UML kernel)
	@$(harness)/verbs/test.sh kunit

test-all:	## all that is tested: days; every patch and every architecture, with a table of these
	@$(harness)/verbs/packages.sh test arch
	@$(harness)/verbs/test.sh all

random: packages-test	## random operations on the mapping, SECONDS=60 [SEED=n], on the debug flavour
	@RANDOM_SECONDS='$(SECONDS)' RANDOM_SEED='$(SEED)' RANDOM_OPTIONS='$(OPTIONS)' \
		$(harness)/verbs/random.sh

# Those of programs need no guest, and are tried first.
faults_of_programs = $(filter library-% command-%,$(FAULTS))
faults_of_kernel = $(filter-out library-% command-%,$(FAULTS))

mutants: packages-test	## are planted faults found, in programs and the kernel? [FAULTS='NAME...']
	@$(if $(FAULTS),$(if $(faults_of_programs),,:)) $(harness)/suites/mutants-programs.sh $(faults_of_programs)
	@$(if $(FAULTS),$(if $(faults_of_kernel),,:)) $(harness)/suites/mutants.sh $(faults_of_kernel)

guest: packages	## run CMD='...' in the guest, with the files of WITH=dir in /host
	@test -n "$$CMD_AS_TYPED" || { echo "make guest CMD='...' [WITH=dir]" >&2; exit 2; }
	@$(harness)/verbs/guest.sh "$$CMD_AS_TYPED"

shell: packages	## a root shell in the guest
	@$(harness)/verbs/guest.sh

kernel-image: packages	## build the kernel if needed, print the path of its bzImage
	@image=$$($(harness)/verbs/kernel.sh) && echo "$$image/bzImage"

bench: packages-bench	## measure: ours, stock 6.1 and mainline's mapping, into build/bench
	@$(harness)/verbs/bench.sh

bench-tools:	## measure this machine, no kernel built: tracemap, trace-cmd, perf, bpftrace; as root
	@$(harness)/verbs/bench-tools.sh

series: packages	## write the patches as mails, a folder a topic, to build/series-6.1 [TOPIC=map]
	@$(harness)/verbs/series.sh "" $(TOPIC)

tree: packages	## make TREE=dir a git tree of the kernel with the series in it, to work in
	@$(harness)/verbs/tree.sh "$(TREE)"

compile-commands:	## compile_commands.json of library and command, for clangd; "make tree" has the kernel's
	@$(harness)/verbs/compile_commands.py programs

deb: packages-deb-kernel	## Debian packages of kernel, library and command, into build/deb (hours)
	@$(harness)/verbs/deb-kernel.sh
	@$(harness)/verbs/deb.sh

deb-tools: packages-deb	## Debian packages of the library and the command only
	@$(harness)/verbs/deb.sh

release: packages-test	## the series, the packages and their checksums, into build/release
	@$(harness)/verbs/release.sh

import:		## take TREE=dir's commits base..BRANCH= as the series (for developers)
	@$(harness)/verbs/import.sh "$(TREE)" $(BRANCH)

ftrace-baseline: packages-test	## make the kept list of the stock kernel's ftrace results anew
	@$(harness)/suites/ftrace.sh baseline

kcsan-baseline: packages-test	## make the kept list of the stock kernel's data races anew
	@$(harness)/suites/kcsan.sh baseline

bench-keep: packages-bench	## write the document and the README's table from the last complete "make bench"
	@$(harness)/bench/keep.sh

packages:	## install what is missing of the Debian packages needed
	@$(harness)/verbs/packages.sh $(BASE) $(if $(GDB),gdb)

packages-test:
	@$(harness)/verbs/packages.sh test $(ARCH)

packages-bench:
	@$(harness)/verbs/packages.sh bench

packages-deb:
	@$(harness)/verbs/packages.sh deb

packages-deb-kernel:
	@$(harness)/verbs/packages.sh deb deb-kernel $(BASE)

clean:		## remove build/ and everything in the cache but the compiler's
	@$(harness)/verbs/clean.sh

.PHONY: help demo test quick check promises kunit test-all random mutants guest shell kernel-image bench bench-tools bench-keep \
	series tree compile-commands deb deb-tools release import ftrace-baseline kcsan-baseline packages packages-test packages-bench \
	packages-deb packages-deb-kernel clean
