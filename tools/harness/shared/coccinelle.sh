# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The kernel's coccinelle scripts, as "make coccicheck MODE=report" runs them, on
# single files. A file takes minutes; what was found in it is kept under its
# content. Source it after find_base.

spatch_script()
{
	local script=$1 file=$2
	# shellcheck disable=SC2046 # they are words
	spatch -D report --no-show-diff --very-quiet --cocci-file "$base/$script" \
		$(sed -n 's/.*Options: *//p' "$base/$script") \
		-I "$base/include" -I "$base/arch/x86/include" "$file" 2>/dev/null </dev/null
}
export -f spatch_script

# coccinelle_file DIR FILE: run every script that can report
coccinelle_file()
{
	(cd "$base" && grep -rlE 'virtual.*report' scripts/coccinelle | sort) |
		(cd "$1" && base=$base xargs -P "$(nproc)" -I{} bash -c 'spatch_script "$@"' - {} "$2")
}

# coccinelle DIR FILE...: what they find, a line each
coccinelle()
{
	local dir=$1 file kept
	shift
	mkdir -p "$cache/coccinelle"
	for file; do
		kept=$cache/coccinelle/$( (echo "$base_id $file"; spatch --version; cat "$dir/$file") | hash_of)
		if [ ! -e "$kept" ]; then
			coccinelle_file "$dir" "$file" >"$kept.new"
			mv "$kept.new" "$kept"
		fi
		cat "$kept"
	done
}
