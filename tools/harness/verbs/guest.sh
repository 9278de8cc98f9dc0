#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh COMMAND: boot the kernel of FLAVOUR= and run a shell command in it.
# guest.sh: a shell instead.
#
# On another architecture than this machine's there is no shell: COMMAND is then
# a program in /host with its arguments, or several, one a line; see init.c.
#
# The command's output comes to standard output and its exit status is
# returned. What befalls the guest itself has a status of its own:
#
#   119	the emulator ran code that is no longer in memory: THREAD=single runs none
#   120	the kernel complained (a splat), though the command succeeded
#   121	the kernel panicked
#   122	no verdict within the time limit
#   123	the guest ended without a verdict
#   124	the guest never said anything
#   125	qemu did not start
#
# Options are variables: SMP= MEM= ACCEL=auto|kvm|tcg FLAVOUR= WITH=dir (its
# files are in /host), OUT=dir (what the command leaves in /out comes there),
# BINS='/bin/a ...' (programs of this machine, with their libraries),
# LIMIT=seconds, APPEND='kernel parameters', THREAD=single (one emulation
# thread: safe for kernels that patch their own code under TCG), ICOUNT=yes (one
# CPU whose clock counts its instructions, a nanosecond each),
# REBOOT=yes (a reset by the guest boots it again, with its memory as it was),
# CPU='-feature,...' (what the emulated CPU shall not have), CONSOLE=file (where
# the console's log goes), EXCEPT='regex' (no splats: the caller judges them),
# DISK=file (boot what is installed on this disk instead; COMMAND is not given
# to it, and it answers by the same virtio ports; BOOT=dir: by the vmlinuz and
# initrd.img of this folder instead of by its own boot loader), GDB=1 (a kernel with
# symbols, which waits for gdb at its first instruction; there is no time limit) or
# GDB=symbols (the same kernel, which does not wait: splats name files and lines).

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/machines.sh"

flavour=${FLAVOUR:-default}
load_arch "$flavour"

install_init()
{
	if [ "$shell" = yes ]; then
		cp "$(command -v busybox)" "$1/bin/busybox"
		cp "$harness/guest/init" "$1/init"
	else
		"${cross}gcc" -O2 -Wall -Wextra -Werror -static -o "$1/init" "$harness/guest/init.c"
	fi
}

# The initial file system: busybox, /init, the kernel's modules, /host, /cmd.
make_initrd()
{
	local root=$work/root bin

	mkdir -p "$root/bin" "$root/host"
	install_init "$root"
	printf '%s\n' "$1" >"$root/cmd"
	[ ! -d "$image/lib" ] || cp -a "$image/lib" "$root/"
	[ -z "${WITH:-}" ] || cp -a "$WITH/." "$root/host/"
	for bin in ${BINS:-}; do
		ldd "$bin" 2>/dev/null | grep -o '/[^ ]*' | cat - <(echo "$bin") |
			xargs -I{} cp -L --parents {} "$root/"
	done
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/initrd"
}

# What the guest's firmware or qemu loads, in qemu's words.
boot_from()
{
	local kernel=$work/kernel initrd=$work/initrd
	if [ -z "${DISK:-}" ]; then
		kernel=$image/${boots##*/}
	elif [ -n "${BOOT:-}" ]; then
		kernel=$BOOT/vmlinuz initrd=$BOOT/initrd.img
	fi
	[ -z "${DISK:-}" ] || loaded=(-drive "file=$DISK,format=raw,if=virtio")
	[ ! -e "$kernel" ] || loaded+=(-kernel "$kernel" -initrd "$initrd" -append "$1")
}

# What to type where the guest waits for gdb
say_gdb()
{
	say "-- the guest waits for gdb. In another terminal:" \
	    $'\n'"   gdb -iex 'add-auto-load-safe-path $image' -ex 'target remote :1234' $image/vmlinux" \
	    $'\n'"   (gdb) hbreak rb_update_meta_page" $'\n'"   (gdb) continue" \
	    $'\n'"   (gdb) lx-dmesg" \
	    $'\n'"   \"apropos lx\" lists the kernel's commands; \"hbreak\" as memory is empty before the kernel is loaded"
}

# Splats with files and lines, if the kernel has symbols
decode()
{
	if [ -e "${image:-}/vmlinux" ]; then
		bash "$image/decode_stacktrace.sh" "$image/vmlinux" auto "$image/lib/modules" 2>/dev/null
	else
		cat
	fi
}

# boot ACCEL LIMIT: run qemu; standard output is the command's.
boot()
{
	local accel=$1 append="console=$console_tty panic=-1 ${APPEND:-}" machine=("${qemu[@]}")
	local port='virtserialport,chardev=out,name=out' icount=() loaded=() debugger=() reset=(-no-reboot)

	case $accel in
	kvm)	machine+=(-cpu host) ;;
	tcg)	accel=tcg,thread=${THREAD:-$thread} machine+=(-cpu "$cpu${CPU:+,$CPU}")
		append+="${tcg_append:+ $tcg_append} watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=150"
		# Not expedited: those are called stalled after 26 s.
		append+=" rcupdate.rcu_normal_after_boot=1" ;;
	esac
	if [ -n "${ICOUNT:-}" ]; then
		icount=(-icount "shift=0,sleep=off" -rtc "base=2024-01-01,clock=vm")
		append+=" norandmaps"
	fi
	if [ -n "${interactive:-}" ]; then
		port='virtconsole,chardev=out'
		append+=" harness.shell"
	fi
	if [ "${GDB:-}" = 1 ]; then
		debugger=(-s -S)
		append+=" nokaslr"
	fi
	if [ -n "${REBOOT:-}" ]; then
		reset=()
		append+=" nokaslr harness.off"
	fi
	boot_from "$append"
	: >"$console"
	rm -f "$work/verdict"
	timeout --foreground -k 30 "$2" "${machine[@]}" \
		-nodefaults -no-user-config -display none "${reset[@]}" \
		-accel "$accel" "${icount[@]}" -smp "${SMP:-2},sockets=${SMP:-2}" -m "${MEM:-1G}" \
		"${loaded[@]}" "${debugger[@]}" \
		-serial "file:$console" -device "$ports" \
		-chardev stdio,id=out,signal=off -device "$port" \
		-chardev "file,id=files,path=$work/files" \
		-device virtserialport,chardev=files,name=files \
		-chardev "file,id=verdict,path=$work/verdict" \
		-device virtserialport,chardev=verdict,name=verdict 2>"$work/qemu.err"
}

# A /dev/kvm may be there and yet hang every guest. Find out once.
probe_kvm()
{
	local known
	known=$cache/accel-$( (uname -rm; cat /proc/sys/kernel/random/boot_id) | hash_of)
	local DISK='' GDB='' image=${image:-}

	if [ ! -e "$known" ]; then
		echo tcg >"$known.$$"
		if [ -w /dev/kvm ]; then
			say "-- trying KVM for 10 s"
			image=${image:-$("$harness/verbs/kernel.sh")}
			make_initrd true
			boot kvm 10 >/dev/null </dev/null || :
			[ ! -s "$work/verdict" ] || echo kvm >"$known.$$"
		fi
		mv "$known.$$" "$known"
		[ "$(cat "$known")" = kvm ] ||
			say "-- KVM does not run a guest here: emulating (TCG), several times slower; remembered"
	fi
	cat "$known"
}

ended()
{
	local status=$1
	shift
	tail -n 15 "$console" | sed 's/^/   | /' >&2
	say "guest: $*; the whole console: $console"
	return "$status"
}

# With a thread a CPU, qemu 7.2 misses at times that code it is about to translate is
# patched. That was it if an int3 stopped the kernel where the dump of its code has none.
ran_old_code()
{
	[ "$accel" = tcg ] && gawk '
		/ int3: 0000 \[#/	{ oops = 1 }
		oops && /\] Code: /	{ old = !/ cc </; exit }
		END { exit !old }' "$console"
}

# judge QEMU-STATUS LIMIT: what became of the guest, in a line and a status.
judge()
{
	local verdict splats
	verdict=$(sed -n 's/^exit \([0-9]*\)$/\1/p' "$work/verdict" 2>/dev/null || :)

	if [ -z "$verdict" ]; then
		if ran_old_code; then
			ended 119 "the EMULATOR RAN OLD CODE (THREAD=single keeps it from that)"
		elif grep -q 'Kernel panic' "$console"; then
			ended 121 "the kernel PANICKED"
		elif [ "$1" -ne 0 ] && [ "$1" -ne 124 ]; then
			sed 's/^/   | /' "$work/qemu.err" >&2
			ended 125 "QEMU FAILED with status $1"
		elif [ ! -s "$console" ]; then
			ended 124 "SAID NOTHING, not a line on the console in $2 s"
		elif [ "$1" -eq 124 ]; then
			ended 122 "HUNG, no verdict within $2 s (LIMIT= is how long it may take)"
		else
			ended 123 "DIED, it ended without a verdict"
		fi
		return
	fi
	if ! splats=$("$harness/shared/splats.sh" "$console"); then
		printf '%s\n' "$splats" | decode | sed 's/^/   | /' >&2
		say "guest: the kernel COMPLAINED; the whole console: $console"
		[ "$verdict" -ne 0 ] || verdict=120
	fi
	return "$verdict"
}

scratch
[ -n "${DISK:-}" ] || image=${IMAGE:-$("$harness/verbs/kernel.sh")}
# shellcheck disable=SC2012 # the names are ours
ls -dt "$logs"/console-* 2>/dev/null | tail -n +40 | xargs -r rm -f || :
console=${CONSOLE:-$logs/console-$flavour-$$.log}
limit=${LIMIT:-600}
accel=${ACCEL:-auto}
[ -z "${ICOUNT:-}" ] || accel=tcg SMP=1 THREAD=single
case $accel in
kvm|tcg) ;;
auto)	accel=tcg
	[ "$karch" != x86_64 ] || accel=$(probe_kvm) ;;
*)	die "ACCEL=$accel: not one of auto, kvm, tcg" ;;
esac
[ -z "${WITH:-}" ] || [ -d "$WITH" ] || die "WITH=$WITH: no such folder"
[ -z "${OUT:-}" ] || mkdir -p "$OUT"
for number in SMP LIMIT; do
	[[ ${!number:-1} =~ ^[1-9][0-9]*$ ]] || die "$number=${!number}: not a number"
done

case ${GDB:-} in
1)	limit=0 ;;
''|symbols) ;;
*)	die "GDB=$GDB: not one of 1, symbols" ;;
esac
[ -n "${DISK:-}" ] || make_initrd "${1:-}"
say "-- guest: ${DISK:-$flavour kernel${SERIES:+ (SERIES=$SERIES)}}, ${SMP:-2} CPUs, ${MEM:-1G}, $accel (console: $console)"
[ "${GDB:-}" != 1 ] || say_gdb
status=0
if [ $# -eq 0 ] && [ -z "${DISK:-}" ]; then
	[ "$shell" = yes ] || die "there is no shell for $flavour" "Name programs in the folder WITH=."
	interactive=yes limit=0
	boot "$accel" 0 || status=$?
else
	# An input that never ends: at its end qemu would close the output too.
	mkfifo "$work/silence"
	boot "$accel" "$limit" <>"$work/silence" || status=$?
fi
if [ -n "${OUT:-}" ] && [ -s "$work/files" ]; then
	cpio --quiet -i -d -u --sparse --no-absolute-filenames -D "$OUT" <"$work/files" ||
		say "guest: not all files of /out came through"
fi
judge "$status" "$limit" || exit $?
