# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# What the checks share: base, the staged files of the series, and comparing
# a tool's findings with those it has on the stock kernel. Source it first.

. "$(dirname "${BASH_SOURCE[0]}")/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/tap.sh"

scratch
find_base
stage_onto_base "$work/stage"
mapfile -t new < <(new_files)
mapfile -t edited < <(edited_files)

# matching PATTERN NAME...: those names that match, one a line.
matching()
{
	local pattern=$1
	shift
	printf '%s\n' "$@" | grep -E "$pattern" || :
}

# Where code of the kernel proper is, for grep -E.
kernel_code='^(kernel|mm|fs|lib|include|arch/x86)/'

# objects_of DIR FILE...: what is made of these C files of DIR; one that is
# included by another has no object.
objects_of()
{
	local dir=$1 c
	shift
	for c; do
		grep -qrF "\"${c##*/}\"" "$dir/$(dirname "$c")" --include='*.[ch]' || echo "${c%.c}.o"
	done
}

# Findings come as path:line:...: numbers say nothing about them.
without_lines()
{
	sed -E 's/:[0-9]+(:[0-9]+(-[0-9]+)?)?:/:/g; s/\<lines? [0-9]+/line N/g; s/[0-9]+-character/N-character/
		s/(context imbalance in .*) - .*/\1/' | sort
}

# new_findings STOCK OURS: what OURS has that STOCK has not (so often).
new_findings()
{
	comm -13 <(without_lines <"$1") <(without_lines <"$2")
}

# no_new_findings STOCK OURS: prints them, and fails if there are some
no_new_findings()
{
	new_findings "$1" "$2" >"$work/unknown"
	empty "$work/unknown"
}

# mails [TOPIC...]: write the mails of the series, from a sender of the harness.
mails()
{
	GIT_CONFIG_COUNT=2 \
	GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0='The Harness' \
	GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=harness@localhost \
		"$harness/verbs/series.sh" "$work/mails" "$@" >/dev/null
}

# am_series BASE DIR: DIR becomes a git tree of what BASE has of the files of the
# series, with the mails in
am_series()
{
	local from=$1 f
	git init -q "$2"
	cd "$2" || return
	for f in "${edited[@]}" "${new[@]}"; do
		[ -e "$from/$f" ] || continue
		mkdir -p "$(dirname "$f")"
		cp "$from/$f" "$f"
	done
	git config user.name 'The Harness'
	git config user.email harness@localhost
	git add -A
	git commit -q --allow-empty -m base
	git am -q "$work"/mails/*/*.patch
}
