#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/sparse.sh: sparse finds nothing in our files. In the files that we edit it finds
# nothing that it does not find in the stock kernel's.

. "$(dirname "$0")/../shared/findings.sh"
. "$harness/verbs/kernel.sh"

run_sparse()
{
	step "configuring for sparse" sparse-config configure
	step "$1" sparse kmake C=2 "${@:2}"
	grep -E ':[0-9]+:[0-9]+: (warning|error):' "$logs/sparse.log" |
		sed -E "s,^($src|\.\./[^/]*)/,," || :
}

# The stock kernel's findings on the same objects.
stock_findings()
{
	local kept
	kept=$cache/sparse-$( (echo "$base_id" "$*"; merge_fragments; sparse --version) | hash_of)
	if [ ! -e "$kept" ]; then
		src=$base build=$cache/build-$base_id-sparse
		mkdir -p "$build"
		run_sparse "sparse on the stock kernel's files" "$@" >"$kept.new"
		mv "$kept.new" "$kept"
	fi
	cat "$kept"
}

our_findings()
{
	prepare_build
	run_sparse "sparse on our files" "$@"
}

# shellcheck disable=SC2034 # kernel.sh reads it
flavour=default
echo 1..1
mapfile -t files < <(matching "$kernel_code.*\.c\$" "${edited[@]}" "${new[@]}")
mapfile -t objs < <(objects_of "$work/stage" "${files[@]}")
lock_source
: >"$work/stock"; : >"$work/findings"
if [ ${#objs[@]} -gt 0 ]; then
	mapfile -t old < <(for o in "${objs[@]}"; do [ ! -e "$base/${o%.o}.c" ] || echo "$o"; done)
	[ ${#old[@]} -eq 0 ] || (stock_findings "${old[@]}") >"$work/stock"
	(our_findings "${objs[@]}") >"$work/findings"
fi
check "sparse: ${objs[*]}" no_new_findings "$work/stock" "$work/findings"
