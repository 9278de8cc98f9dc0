#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# checks/man.sh: the library's manual pages are well formed and name everything
# that is public, once; their examples compile, as C and as C++, and those that the
# headers begin with. Those that need no kernel are run.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"
. "$harness/shared/pages.sh"

lint()
{
	mandoc -Tlint -Wstyle "$1" >"$work/lint" 2>&1 || :
	cat "$work/lint"
	[ ! -s "$work/lint" ]
}

# public HEADER: what the version script exports, and what is inline
public()
{
	local map=$library/lib${1%.h}.map
	[ ! -e "$map" ] || sed -n 's/^[[:blank:]]*\(tracemap_[a-z0-9_]*\);.*/\1/p' "$map"
	sed -n 's/^static \(inline\|__always_inline\) [^(]*\b\(\(tracemap\|subbuf\)_[a-z0-9][a-z0-9_]*\)(.*/\2/p' \
		"$library/$1" | sed '/__/d'
}

# Of each public function there is a page, and of a page that is named otherwise.
named_once()
{
	local h page
	{
		for h in tracemap.h subbuf.h tracemap-event.h tracemap-dat.h; do public "$h"; done
		basename -s .3 "${pages[@]}"
	} | sort -u >"$work/public"
	[ "$(wc -l <"$work/public")" -gt 50 ]
	for page in "${pages[@]}"; do
		"$library/man/page.sh" names "$(made "$page")"
	done | sort >"$work/named"
	diff -U 0 --label public --label "named in man/" "$work/public" "$work/named"
	basename -s .3 "$work"/prefix/share/man/man3/*.3 | sort | diff -U 0 "$work/named" -
}

languages()
{
	example "$1" 'c gnu99' "$work/bin/$(basename "$1" .3)"
	example "$1" 'c++ c++11' "$work/bin/cxx"
}

# The lines that a header begins with, in a function that declares what they take for granted.
head_example()
{
	{
		printf '#include <%s>\n' stdio.h tracemap.h "$1"
		echo 'void use(int, uint64_t, const void *, size_t, uint64_t);'
		echo 'void head(int ret, char *dir, struct tracemap_merge *m, struct tracemap_record rec);'
		echo 'void head(int ret, char *dir, struct tracemap_merge *m, struct tracemap_record rec)'
		echo '{ {'
		awk '/^ \*\t/ { print substr($0, 4); n++; next } n && !/^ \*$/ { exit }' "$library/$1"
		echo '} (void)ret; (void)dir; (void)m; (void)rec; }'
	} >"$work/head.c"
	[ "$(wc -l <"$work/head.c")" -gt 12 ]
	# shellcheck disable=SC2046 # they are words
	gcc -O2 -Wall -Wextra -Werror -c -o "$work/head.o" "$work/head.c" $(pc --cflags libtracemap-event)
}

# ---- Examples that need no kernel ----

# number BYTES VALUE, little-endian
number()
{
	local i
	for ((i = 0; i < $1; i++)); do
		printf '%b' "\\x$(printf %02x $(($2 >> 8 * i & 255)))"
	done
}

# subbuf TIME COMMIT [WORD]...: one of 64 bytes, at the end of a file
subbuf()
{
	local file=$1 word
	{
		number 8 "$2"
		number 8 "$3"
		shift 3
		for word; do number 4 "$word"; done
	} >>"$file"
	truncate -s %64 "$file"
}

# An event that is 3 later than the one before, and has 4 bytes: 0x61, these.
make_files()
{
	printf '\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n' >"$work/header_page"
	printf '\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n' >>"$work/header_page"
	printf '\tfield: char data;\toffset:16;\tsize:48;\tsigned:1;\n' >>"$work/header_page"
	subbuf "$work/good" 100 16 0x61 1 0x61 2
	subbuf "$work/good" 200 $((3 << 30 | 8)) 0x61 3 7 0
	cp "$work/good" "$work/damaged"
	subbuf "$work/damaged" 300 8 28 4
	subbuf "$work/damaged" 400 8 0x61 5
}

# prints STATUS TEXT PROGRAM [ARGUMENT]...
prints()
{
	local status=0 expected=$1 text=$2 program=$3
	shift 3
	LD_LIBRARY_PATH=$work/prefix/lib "$work/bin/$program" "$@" >"$work/out" 2>"$work/err" || status=$?
	cat "$work/err"
	diff -U 9 <(printf '%s\n' "$text") "$work/out"
	[ "$status" -eq "$expected" ] || { echo "status $status"; return 1; }
}

run_subbuf() { prints "$1" "$2" subbuf "$work/header_page" <"$work/$3"; }
run_file() { prints "$1" "$2" tracemap_cpu_open "$work/header_page" "$work/$3"; }

run_merge()
{
	printf '%s\n' '10 a' '30 b' >"$work/0.log"
	printf '%s\n' '20 c' '5 d' '40 e' >"$work/1.log"
	prints 0 $'0: 10 a\n1: 20 c\nlate: 1: 5 d\n0: 30 b\n1: 40 e' \
		tracemap_merge "$work/0.log" "$work/1.log"
}

scratch
mkdir "$work/bin"
step "installing the library" man install_library
make_files
echo "1..$((2 * ${#pages[@]} + 8))"
for page in "${pages[@]}"; do
	name=$(basename "$page")
	check "man: $name is well formed" lint "$(made "$page")"
	check "man: the example of $name compiles, as C and as C++" languages "$page"
done
for name in tracemap.h tracemap-event.h; do
	check "man: what $name begins with compiles" head_example "$name"
done
check "man: all that is public is named on one page, which is installed" named_once
check "man: the example of subbuf.3 prints events and losses" \
	run_subbuf 0 $'103: 4 bytes\n106: 4 bytes\n7 events lost\n203: 4 bytes' good
check "man: the example of subbuf.3 tells of damage" \
	run_subbuf 0 $'103: 4 bytes\n106: 4 bytes\n7 events lost\n203: 4 bytes\ndamaged\n403: 4 bytes' damaged
check "man: the example of tracemap_cpu_open.3 prints events" \
	run_file 0 $'103: 4 bytes\n106: 4 bytes\n203: 4 bytes' good
check "man: the example of tracemap_cpu_open.3 goes on behind damage" \
	run_file 1 $'103: 4 bytes\n106: 4 bytes\n203: 4 bytes\n403: 4 bytes' damaged
check "man: the example of tracemap_merge.3 merges files" run_merge
