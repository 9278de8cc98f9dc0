#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/library-on.sh ARCH: libtracemap on another machine: its tests that need
# no kernel, and those that read the buffers of the one there.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/machines.sh"

name=$1
load_arch "$name"
library=$top/tools/lib/tracemap
# No kernel is needed for these; that of event_test needs libtraceevent.
tests=(bpf core live merge subbuf)

compile()
{
	"${user_cross}gcc" -std=gnu99 -O2 -g -static -Wall -Wextra -Werror -D_FILE_OFFSET_BITS=64 \
		-I"$library" -idirafter "$top/include/uapi" -o "$work/with/$1" "${@:2}" -pthread
}

# shellcheck disable=SC2317 # step calls it
build()
{
	local t core options

	mapfile -t core < <(find "$library" -maxdepth 1 -name '*.c' ! -name '*_test.c' \
		! -name 'event*' ! -name 'dat*' ! -name 'trace_*' \
		! -name bytes.c ! -name losses.c ! -name new_file.c ! -name temp_file.c)
	for t in "${tests[@]}"; do
		options=()
		[ "$t" != bpf ] || options=("-Wl,--wrap=syscall")
		[ "$t" != core ] || options=("-Wl,--wrap=read,--wrap=fstatfs64")
		[ "$t" != merge ] || options=("-Wl,--wrap=malloc")
		compile "${t}_test" "$library/${t}_test.c" "${core[@]}" "${options[@]}"
	done
	compile lib_guest "$library"/tests/*.c "${core[@]}"
}

scratch
mkdir "$work/with"
step "building libtracemap and its tests for $name" "library-$name" build
FLAVOUR=${kernel:-$name} WITH=$work/with LIMIT=${LIMIT:-1800} "$harness/verbs/guest.sh" \
	"$( (printf './%s_test\n' "${tests[@]}"; echo './lib_guest read,map,live') | in_turn)"
