#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/documents.sh: the kernel's own Sphinx set-up builds the documents that we
# add or edit, and prints no warning that the stock kernel's documents do not cause.

. "$(dirname "$0")/../shared/findings.sh"
. "$harness/verbs/kernel.sh"

# Only Documentation/trace is built: that is where our documents are.
build_documents()
{
	make -C "$src" O="$build" SPHINXDIRS=trace SPHINXOPTS='-j1 -E' htmldocs
}

findings()
{
	mkdir -p "$build"
	step "$1" documents build_documents
	grep -E '(WARNING|ERROR|warning|error):' "$logs/documents.log" | sed -E 's,^[^ ]*/Documentation/,,' || :
}

stock_findings()
{
	local kept
	kept=$cache/documents-$( (echo "$base_id"; sphinx-build --version) | hash_of)
	if [ ! -e "$kept" ]; then
		src=$base build=$work/stock-documents
		findings "the stock kernel's documents of tracing" >"$kept.new"
		mv "$kept.new" "$kept"
	fi
	cat "$kept"
}

our_findings()
{
	sync_source
	build=$work/documents
	findings "our documents"
}

documents=$(matching '^Documentation/.*\.rst$' "${edited[@]}" "${new[@]}")
echo 1..1
lock_source
: >"$work/stock"; : >"$work/ours"
if [ -n "$documents" ]; then
	(stock_findings) >"$work/stock"
	(our_findings) >"$work/ours"
fi
check "documents: ${documents//$'\n'/ }" no_new_findings "$work/stock" "$work/ours"
