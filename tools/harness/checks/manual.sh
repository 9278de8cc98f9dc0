#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/manual.sh: the manual pages of the tracemap command are well formed. The manual
# and --help have the same options. The README's program compiles.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

command=$top/tools/tracing/tracemap

# The options in a line of --help, "-e, --event EVENT   what it does": two blanks end them.
in_help()
{
	"$work/tracemap" "$1" --help | sed -n 's/^ *\(-.*\)/\1/p' | sed 's/  .*//' | options
}

# The line behind .TP names options: .BR \-e ,\~ \-\-event\~ \fIevent\fP
in_manual()
{
	awk '/^\.TP/ { getline; print }' "$work/man/tracemap-$1.1" |
		sed 's/\\-/-/g; s/\\~/ /g; s/\\f.*//' | options
}

# The options in the words of standard input. Every verb has --help, so it is left out.
options()
{
	tr -s ' ,\t' '\n' | grep -E '^--?[A-Za-z][a-z-]*$' | grep -vxE -- '-h|--help' | sort
}

same()
{
	"$1" "$3" >"$work/$1"
	"$2" "$3" >"$work/$2"
	diff -U 0 --label "$1" --label "$2" "$work/$1" "$work/$2"
	[ -s "$work/$1" ]
}

lint()
{
	mandoc -Tlint -Wstyle "$1" >"$work/lint" 2>&1 || :
	cat "$work/lint"
	[ ! -s "$work/lint" ]
}

verbs_in_manual()
{
	local verb
	for verb in "${verbs[@]}"; do
		grep -q "^\.BR tracemap\\\\-$verb (1)" "$work/man/tracemap.1"
	done
}

# shellcheck disable=SC2016 # these quotation marks are Markdown's
readme_program()
{
	sed -n '/^```c$/,/^```$/{/^```/d;p}' "$top/README.md" >"$work/readme.c"
	gcc -O2 -Wall -Wextra -Werror -I"$top/tools/lib/tracemap" \
		-idirafter "$top/include/uapi" -o "$work/readme" "$work/readme.c"
}

build()
{
	make -C "$command" O="$work" all man
}

scratch
step "building tracemap" tracemap-manual build
mapfile -t verbs < <("$work/tracemap" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
mapfile -t pages < <(cd "$work/man" && ls)
echo "1..$((2 + ${#pages[@]} + ${#verbs[@]}))"
check "manual: the program of the README compiles" readme_program
check "manual: tracemap.1 has every verb" verbs_in_manual
for page in "${pages[@]}"; do
	check "manual: $page is well formed" lint "$work/man/$page"
done
for verb in "${verbs[@]}"; do
	check "manual: the options of $verb are those of --help" same in_help in_manual "$verb"
done
