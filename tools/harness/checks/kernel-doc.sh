#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/kernel-doc.sh: the comments in kernel-doc form are well formed.

. "$(dirname "$0")/../shared/findings.sh"

kernel_doc()
{
	(cd "$1" || exit
	perl "$base/scripts/kernel-doc" -none "$2" 2>&1 | grep -E 'warning|error' || :)
}

no_findings()
{
	: >"$work/stock"
	[ ! -e "$base/$1" ] || kernel_doc "$base" "$1" >"$work/stock"
	kernel_doc "$work/stage" "$1" >"$work/ours"
	no_new_findings "$work/stock" "$work/ours"
}

# Of the library, the headers that are installed: its manual pages are made of them.
checked='^((include|kernel|mm|fs|lib)/.*\.[ch]|tools/lib/tracemap/(tracemap.*|subbuf|live)\.h)$'
mapfile -t files < <(matching "$checked" "${edited[@]}" "${new[@]}")
echo "1..${#files[@]}"
for f in "${files[@]}"; do
	check "kernel-doc: $f" no_findings "$f"
done
