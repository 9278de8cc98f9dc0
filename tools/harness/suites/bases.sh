#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/bases.sh: git am takes the mails of the series, and what they touch
# compiles, on the newest and the oldest kernel source that Debian's archive
# has, and on stable's own tarball. A source before $oldest_base first takes
# what stable has changed since in kernel/trace, and in the files that the series edits.

. "$(dirname "$0")/../shared/findings.sh"
. "$harness/verbs/kernel.sh"
. "$harness/shared/archive.sh"

# shellcheck disable=SC2034 # kernel.sh reads them
flavour=default

unpack()
{
	rm -rf "$work/tree"
	mkdir "$work/tree"
	tar -C "$work/tree" -xf "$1" --strip-components=1
}

# git apply knows no fuzz: a hunk fits or it does not.
applies()
{
	rm -rf "$work/am"
	am_series "$work/tree" "$work/am"
	cp -r --remove-destination "$work/am/." "$work/tree"
}

compiles()
{
	rm -rf "$work/build"
	mkdir "$work/build"
	# shellcheck disable=SC2034 # kernel.sh reads them
	src=$work/tree build=$work/build
	if ! { configure && kmake "${objs[@]}"; } >"$work/make.log" 2>&1; then
		tail -n 20 "$work/make.log"
		return 1
	fi
	! grep -A 5 'warning:' "$work/make.log"
}

# What the series edits, and what is beside it, as it is in another tarball.
catch_up()
{
	local beside
	mapfile -t beside < <(printf '%s\n' "${edited[@]}" | grep -v '^kernel/trace/')
	tar -C "$work/tree" -xf "$1" --strip-components=1 "$package/kernel/trace" \
		"${beside[@]/#/$package/}"
}

# try_base NAME TARBALL [TARBALL-TO-CATCH-UP-WITH]
try_base()
{
	step "unpacking ${2##*/}" unpack-other unpack "$2"
	[ -z "${3:-}" ] || step "taking what changed up to ${3##*/}" catch-up catch_up "$3"
	check "bases: git am takes the series on $1" applies
	check "bases: what the series touches compiles on $1" compiles
}

# since OLDEST: those of the versions that come in
since()
{
	local version
	while read -r version; do
		! dpkg --compare-versions "$version" ge "$1" || printf '%s\n' "$version"
	done
}

# The newest whose tarball is there: the archive may list one that has gone.
newest_orig()
{
	local version
	while read -r version; do
		orig=$(archive_orig "$source" "$version") && { orig_version=$version; return; }
		say "-- the archive lists $source $version, but its tarball cannot be had: see $logs/archive-orig.log"
	done < <(archive_versions source "$source" | since "$oldest_base" | tac)
	return 1
}

open_archive
source=$(archive_source_package)
mapfile -t sources < <(archive_versions binary "$package")
mapfile -t since_then < <(printf '%s\n' "${sources[@]}" | since "$oldest_base")
first=${since_then[0]:-}
[ -n "$first" ] || die "the archive has no $package since $oldest_base"
newest_orig || orig=
mails
mapfile -t files < <(matching "$kernel_code.*\.c\$" "${edited[@]}" "${new[@]}")
mapfile -t objs < <(objects_of "$work/stage" "${files[@]}")

newest=${sources[-1]} oldest=${sources[0]}
echo "1..$([ "$oldest" = "$first" ] && echo 6 || echo 8)"
try_base "the newest $package, $newest" "$(archive_source "$newest")"
try_base "$package $first" "$(archive_source "$first")"
[ "$oldest" = "$first" ] ||
	try_base "the oldest $package, $oldest, caught up with $first" \
		"$(archive_source "$oldest")" "$(archive_source "$first")"
if [ -n "$orig" ]; then
	try_base "the tarball of linux $orig_version" "$orig"
else
	result 1 "bases: the archive has a tarball of $source since $oldest_base to take the series"
	result 1 "bases: the archive has a tarball of $source since $oldest_base to compile"
fi
