#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench.sh: measure six kernels with one configuration: the stock kernel, the series on it
# up to the live view, up to the topic writer, and all of it, mainline's mapping as Debian's
# 6.12 has it, and the series on that. The results, a line each, go to
# build/bench/results.txt. If all kernels were measured, the document with its charts is
# beside it, and bench.json, from which "make bench-keep" makes them again.
#
# The guests are emulated and count instructions, so that a second run has the same
# results; with ACCEL=kvm they measure time. The tables "cpus" and "quiet" always measure
# time: they need several CPUs, and a guest that counts instructions has one. The table
# "merge" is timed on this machine, and so is ring_buffer_benchmark, in kernels that run as
# programs of this machine.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"

out=$top/build/bench
kernels='stock before before_writer ours mainline newer'

# The tables that the document shows of each kernel. Stock 6.1 has no mapping. The kernels
# before the live view and before the topic writer show what writing an event costs there;
# the former also shows how much memory the live index takes.
tables_of()
{
	case $1 in
	stock)		echo drain writer wakeup ring_buffer_benchmark ;;
	before)		echo writer index ring_buffer_benchmark ;;
	before_writer)	echo writer ring_buffer_benchmark ;;
	ours)		echo drain library growth get_reader peers writer map index wakeup loss \
				ring_buffer_benchmark merge ;;
	mainline|newer)	echo drain get_reader writer map wakeup ring_buffer_benchmark ;;
	esac
}

# How many patches come before the one that brings the live index.
patches_before_live()
{
	local p n=0
	while read -r p; do
		! patch_new_files "$p" | grep -x kernel/trace/ring_buffer_live.c >/dev/null || break
		n=$((n + 1))
	done < <(series_patches)
	echo "$n"
}

patches_before_writer() { series_patches | sed '/\/writer\//,$d' | wc -l; }

# of KERNEL COMMAND...: with what the kernel is called for kernel.sh.
of()
{
	local kernel=$1
	shift
	case $kernel in
	before)		SERIES=$(patches_before_live) "$@" ;;
	before_writer)	SERIES=$(patches_before_writer) "$@" ;;
	mainline)	on_kernel 6.12 "$@" ;;
	newer)		BASE=6.12 KERNEL_SRC='' "$@" ;;
	*)		on_kernel "$kernel" "$@" ;;
	esac
}

# Sets image_KERNEL.
build_kernels()
{
	local kernel image
	for kernel in $kernels; do
		say "-- $kernel"
		image=$(of "$kernel" "$harness/verbs/kernel.sh")
		declare -g "image_$kernel=$image"
	done
	image_irqs=$(FLAVOUR=default "$harness/verbs/kernel.sh")
	image_smp=$(FLAVOUR=bench-smp "$harness/verbs/kernel.sh")
	native_stock=$(FLAVOUR=uml-bench SERIES=none "$harness/verbs/kernel.sh")
	native_ours=$(FLAVOUR=uml-bench "$harness/verbs/kernel.sh")
}

build_program()
{
	mkdir -p "$work/with"
	make -C "$harness/bench" O="$work/with"
	cp "$harness/bench/run.guest" "$work/with/run"
	mkdir -p "$work/with/native/trace"
	cp "$harness/bench/native" "$work/with/native/init"
}

choose_unit()
{
	case ${ACCEL:-auto} in
	auto|tcg)
		unit=instructions accel=tcg
		# An emulated instruction that copies a string is as many as bytes.
		export CPU=-erms,-fsrm ;;
	kvm)		unit=nanoseconds accel=kvm ;;
	*)		die "ACCEL=$ACCEL: not one of auto, kvm, tcg" ;;
	esac
}

processor() { gawk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo; }

# The machine is said as it is: a figure of time means nothing without it.
describe()
{
	local kernel image version qemu
	qemu=$(qemu-system-x86_64 --version | sed -n 's/^QEMU emulator version \([^ ]*\).*/\1/p')
	for kernel in $kernels; do
		image=image_$kernel
		version=$(ls "${!image}/lib/modules")
		echo "result meta kernel=$kernel version=$version unit=$unit accel=$accel qemu=$qemu cpu=$(processor)"
	done
}

# guest KERNEL IMAGE UNIT TABLE...: add the guest's results. What it says
# beside them is for the person at the keyboard.
guest()
{
	local kernel=$1 image=$2 unit=$3 status=0
	shift 3

	say "-- measuring $kernel: $*"
	IMAGE=$image WITH=$work/with MEM=${MEM:-2G} LIMIT=${LIMIT:-900} "$harness/verbs/guest.sh" \
		"export BENCH_KERNEL=$kernel BENCH_UNIT=$unit; sh ./run $*" \
		>"$work/output" || status=$?
	sed -n "s/^\(result [a-z_]*\) /\1 kernel=$kernel /p" "$work/output" >>"$work/results"
	grep -v '^result ' "$work/output" | sed 's/^/   | /' >&2 || :
	[ "$status" -eq 0 ] || { say "-- measuring $kernel: FAILED with status $status"; failed=1; }
}

measure_single()
{
	local kernel image tables
	export ACCEL=$accel SMP=1
	[ "$unit" != instructions ] || export ICOUNT=yes
	for kernel in $kernels; do
		image=image_$kernel
		read -ra tables < <(tables_of "$kernel")
		guest "$kernel" "${!image}" "$unit" "${tables[@]}"
	done
	# What traces this takes longer than what it traces: the time says nothing.
	[ "$unit" != instructions ] ||
		FLAVOUR=default guest ours "$image_irqs" "$unit" irqs_off
	unset ICOUNT
}

measure_several()
{
	# As a tracing user has it: an idle CPU has more to trace there.
	SMP=2 THREAD=single FLAVOUR=default guest ours "$image_irqs" nanoseconds quiet
	for SMP in 1 2 4 8; do
		FLAVOUR=bench-smp guest ours "$image_smp" nanoseconds cpus
	done
}

# What happens in a program alone needs no guest to be timed: the CPU time of a thread.
measure_here()
{
	say "-- measuring here: merge"
	"$work/with/merge_cost" nanoseconds | sed 's/^result merge /&kernel=ours /' >>"$work/results"
}

# native KERNEL IMAGE: what ring_buffer_benchmark takes for an event, in a kernel that is
# a program of this machine, by the user time of the program.
native()
{
	local TIMEFORMAT=%U
	{ time timeout 60 "$2/linux" mem=256M con0=fd:0,fd:1 root=/dev/root rootfstype=hostfs \
		rootflags=/ ro init="$work/with/native/init" ring_buffer_benchmark.disable_reader=1 \
		</dev/null >"$work/said" 2>&1; } 2>"$work/time" || return
	gawk -v kernel="$1" -v seconds="$(tail -n 1 "$work/time")" '
		NF > 2 && $(NF - 1) == "Hit:" {
			printf "result native kernel=%s value=%.3f\n", kernel, seconds * 1e9 / $NF
			found = 1
		}
		END { exit !found }' "$work/said"
}

# In turns, so that what else the machine does is the same for both; the least counts.
measure_native()
{
	say "-- measuring here: native"
	for _ in 1 2 3 4 5; do
		native stock "$native_stock" || return
		native ours "$native_ours" || return
	done >"$work/native"
	sort -V "$work/native" | gawk '!seen[$3]++' >>"$work/results"
}

scratch
failed=0
export FLAVOUR=bench
choose_unit
build_kernels
step "building the programs" bench-programs build_program
describe >"$work/results"
measure_single
measure_several
measure_here
measure_native || { say "-- measuring here: FAILED"; failed=1; }
mkdir -p "$out"
cp "$work/results" "$out/results.txt"
say "-- the results: $out/results.txt ($SECONDS s)"
[ "$failed" -eq 0 ] || die "not everything was measured: no document is made"
"$harness/bench/report.py" "$out/results.txt" "$out"
"$harness/bench/charts.sh" "$out/costs.rst" "$out/costs"
say "-- the document: $out/costs.rst"
