#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/patches.sh WHAT [FIRST [LAST]]: no patch of the series breaks what git
# bisect would stop at. FIRST and LAST are numbers of patches.
#
#   boot	each patch's kernel is built, without a warning, and boots
#   compile	gcc at W=1 and sparse say nothing about the files that a patch
#		touches that they do not say about the stock kernel's
#   coccinelle	the same, for the kernel's coccinelle scripts

. "$(dirname "$0")/../shared/findings.sh"
. "$harness/verbs/kernel.sh"
. "$harness/shared/coccinelle.sh"

# A tree of its own: the default one is not to be compiled anew after this.
# shellcheck disable=SC2034 # kernel.sh reads them
flavour=default tree=patches
# The modules that tests bring along are no part of the series.
flavour_modules() { :; }

# stage_patch N: what there is with the first N patches.
stage_patch()
{
	rm -rf "$work/stage"
	SERIES=$1 stage_onto_base "$work/stage"
}

# prepare_patch N: the source becomes that of the first N patches.
prepare_patch()
{
	stage_patch "$1"
	prepare_build
}

# ---- boot ----

compile_patch()
{
	compile >"$work/make.log" 2>&1 || { tail -n 20 "$work/make.log"; return 1; }
	! grep -A 5 'warning:' "$work/make.log"
}

# The stock list of tracers shows that the tracing of that kernel came up. What has
# booted once is not built again: a patch that brings no kernel code has the kernel
# of the one before it, and who runs this again has most of them.
boot_patch()
{
	local booted

	stage_patch "$1"
	booted=$cache/booted/$( (echo "$kernel_key"; merge_fragments; gcc --version
		cat "$harness/verbs/guest.sh" "$harness/guest/init" "$harness/shared/splats.sh") | hash_of)
	[ ! -e "$booted" ] || return 0
	prepare_build
	compile_patch
	rm -rf "$work/image"
	image=$work/image
	install_image >"$work/install.log" 2>&1 || { tail "$work/install.log"; return 1; }
	IMAGE=$image "$harness/verbs/guest.sh" 'grep -w nop /sys/kernel/tracing/available_tracers'
	mkdir -p "$cache/booted"
	touch "$booted"
}

# ---- compile ----

# W=1 and sparse on these objects, compiled anew: a finding per line.
compiler_findings()
{
	local status=0

	[ $# -gt 0 ] || return 0
	(cd "$build" && rm -f "$@")
	# As compile() does: an object may be half written after a kill.
	: >"$build/.unfinished"
	kmake W=1 C=1 "$@" >"$work/make.log" 2>&1 || status=$?
	rm "$build/.unfinished"
	[ $status -eq 0 ] || { tail -n 20 "$work/make.log" >&2; return 1; }
	grep -E ':[0-9]+(:[0-9]+)?: (warning|error):' "$work/make.log" |
		sed -E "s,^($src|\.\./[^/]*)/,," || :
}

# gcc's and sparse's findings in the files of the stock kernel
stock_findings()
{
	local kept objs
	kept=$cache/static-$( (echo "$base_id" "$*"; merge_fragments; gcc --version
		sparse --version) | hash_of)
	if [ ! -e "$kept" ]; then
		prepare_patch 0
		mapfile -t objs < <(objects_of "$src" "$@")
		compiler_findings "${objs[@]}" >"$kept.new"
		mv "$kept.new" "$kept"
	fi
	cat "$kept"
}

# touched PATCH: the C files of the kernel that it edits or brings
touched()
{
	{ patch_edited_files "$1"; patch_new_files "$1"; } | grep -E "$kernel_code.*\.c\$" | sort -u
}

# compiled PATCH: those to be compiled; for a header, all that the series has
# touched by then.
compiled()
{
	if { patch_edited_files "$1"; patch_new_files "$1"; } | grep -E "$kernel_code.*\.h\$" >/dev/null; then
		(cd "$work/stage" && find . -name '*.c') | sed 's,^\./,,' | grep -E "$kernel_code" | sort
	else
		touched "$1"
	fi
}

compile_objects()
{
	local objs

	prepare_patch "$1"
	# shellcheck disable=SC2046 # they are words
	mapfile -t objs < <(objects_of "$src" $(compiled "${all[$1 - 1]}"))
	compiler_findings "${objs[@]}" >"$work/findings"
	no_new_findings "$work/stock" "$work/findings"
}

# ---- coccinelle ----

in_stock()
{
	local f
	for f; do [ ! -e "$base/$f" ] || echo "$f"; done
}

search_patch()
{
	local files known

	stage_patch "$1"
	mapfile -t files < <(touched "${all[$1 - 1]}")
	mapfile -t known < <(in_stock "${files[@]}")
	coccinelle "$base" "${known[@]}" >"$work/stock"
	coccinelle "$work/stage" "${files[@]}" >"$work/findings"
	no_new_findings "$work/stock" "$work/findings"
}

# A tool that never finds anything would let every patch pass.
coccinelle_works()
{
	mkdir -p "$work/bad"
	printf '#include <linux/slab.h>\nvoid bad(void *p)\n{\n\tif (p)\n\t\tkfree(p);\n}\n' \
		>"$work/bad/bad.c"
	coccinelle_file "$work/bad" bad.c | grep 'NULL check before'
}

# ---- all of it ----

what=${1:-} extra=0
case $what in
boot)		try=boot_patch ;;
compile)	try=compile_objects ;;
coccinelle)	try=search_patch extra=1 ;;
*)		die "patches.sh WHAT [FIRST [LAST]]: WHAT is boot, compile or coccinelle" ;;
esac
mapfile -t all < <(series_patches)
first=${2:-1} last=${3:-${#all[@]}}
[[ "$first $last" =~ ^[0-9]+\ [0-9]+$ ]] || die "patches.sh $what $first $last: no numbers of patches"
((1 <= first && first <= last && last <= ${#all[@]})) ||
	die "patches.sh $what $first $last: the patches are 1 to ${#all[@]}"

echo "1..$((last - first + 1 + extra))"
if [ "$what" = coccinelle ]; then
	check "coccinelle finds what is wrong" coccinelle_works
else
	lock_source
fi
if [ "$what" = compile ]; then
	mapfile -t old < <(matching "$kernel_code.*\.c\$" "${edited[@]}")
	(stock_findings "${old[@]}") >"$work/stock"
fi
for ((n = first; n <= last; n++)); do
	check "$what: ${all[n - 1]#"$patches"/}" "$try" "$n"
done
