#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh: build the kernel that FLAVOUR=, SERIES= and BASE= name, print the
# folder that holds it: bzImage, config, lib/modules/, or linux, config for uml.
# FLAVOUR= is a file of config/, or a machine of arch/, whose image may have
# another name than bzImage; in the file "warnings" is what its compiler said. GDB=
# adds vmlinux with all symbols, and the kernel's scripts for gdb and stack traces.
#
# A finished kernel is kept under a hash of everything that went into it, so
# an old one never answers for a new source, and a known one costs nothing.

. "$(dirname "${BASH_SOURCE[0]}")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/machines.sh"

flavour=${FLAVOUR:-default}
label=$flavour
tree=${flavour#default}
[ -n "$(series_patches)" ] || { tree=${tree:+$tree-}stock; label+=-stock; }
[ "$linux" = 6.1 ] || label+=-$linux
[ "${MUTANTS:-}" != yes ] || { tree=mutants-$flavour; label+=-mutants; }
[ -z "${GDB:-}" ] || { tree=${tree:+$tree-}gdb; label+=-gdb; }
load_arch "$flavour"
[[ $flavour != uml* ]] || karch=um

flavour_fragments()
{
	local name names=("${fragments[@]}")

	if [ ${#names[@]} -eq 0 ]; then
		case $flavour in
		default|bench|uml-bench)	;;
		uml)		printf '%s\n' "$top/kernel/trace/.kunitconfig" ;;
		bench-*)	names=(bench) ;;
		*)		names=(default) ;;
		esac
		names+=("$flavour")
	fi
	for name in "${names[@]}"; do
		printf '%s\n' "$harness/config/$name.config"
		# What a base has not, or has under another name.
		[ ! -e "$patches/$name.config" ] || printf '%s\n' "$patches/$name.config"
	done
	[ -z "${GDB:-}" ] || printf '%s\n' "$harness/config/gdb.config"
	[ "${MUTANTS:-}" != yes ] || [[ $flavour = uml* ]] || printf '%s\n' "$harness/config/mutants.config"
}

# The folder of modules that are built outside the kernel for the flavour.
flavour_modules()
{
	case $flavour in
	bench*)		printf '%s\n' "$harness/bench/module" ;;
	default|debug|kcsan)	printf '%s\n' "$harness/torture/module" ;;
	esac
}

# The kcsan suite wants to know which function an inlined one was, and the line.
case $flavour in
kcsan)	flavour_make=(CFLAGS_{ring_buffer,trace,trace_snapshot_users}.o=-g) ;;
*)	flavour_make=() ;;
esac

export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
# Two checkouts, or two cache folders, share what they compile.
export CCACHE_BASEDIR=$cache CCACHE_NOHASHDIR=1
# ccache asks the compiler for the headers, and does not run the preprocessor first.
export CCACHE_DEPEND=1
# At a place that is the same for all checkouts: make compiles all anew if it changes.
cmp -s "$harness/shared/cc.sh" "$cache/cc" || {
	cp "$harness/shared/cc.sh" "$cache/cc.$$"
	mv "$cache/cc.$$" "$cache/cc"
}
export KBUILD_BUILD_TIMESTAMP='' KBUILD_BUILD_USER=harness KBUILD_BUILD_HOST=harness

kmake()
{
	make -C "$src" O="$build" ARCH="$karch" CROSS_COMPILE="$cross" \
	     CC="$cache/cc $compiler" HOSTCC="ccache gcc" \
	     -j"$(nproc)" "${flavour_make[@]}" "$@"
}

# A later fragment's line for a symbol replaces an earlier one's.
# A kernel without the series has no tests of it, either.
without_series()
{
	if [ "${SERIES:-all}" = none ]; then grep -v '^CONFIG_RING_BUFFER_KUNIT_TEST='; else cat; fi
}

merge_fragments()
{
	flavour_fragments | xargs cat | without_series |
		awk -F= '/^CONFIG_/ { v[$1] = $0 } END { for (s in v) print v[s] }' |
		sort
}

# Kconfig drops what it cannot satisfy without a word.
verify_config()
{
	local line bad=0
	while IFS= read -r line; do
		case $line in
		*=n)	grep -q "^${line%=n}=" "$build/.config" || continue ;;
		*)	grep -qxF -- "$line" "$build/.config" && continue ;;
		esac
		echo "wanted $line, got $(grep -w "${line%%=*}" "$build/.config" || echo nothing)"
		bad=1
	done <"$build/wanted.config"
	return $bad
}

configure()
{
	merge_fragments >"$build/wanted.config"
	# allnoconfig would leave out the live view, which is there by default where it can be.
	{ cat "$build/wanted.config"; echo CONFIG_RING_BUFFER_LIVE=y; } >"$build/all.config"
	kmake KCONFIG_ALLCONFIG="$build/all.config" allnoconfig && verify_config
}

compile()
{
	# Left behind only by a run that was killed: an object may be half
	# written then, and ccache brings the whole ones back quickly.
	: >"$build/.unfinished"
	local targets=("${boots##*/}" modules)
	[ "$karch" != um ] || targets=(linux)
	# Whatever the compiler has to say about the series is said each time.
	rm -rf "$build/kernel/trace" "$build/fs/tracefs"
	kmake "${targets[@]}" || { rm "$build/.unfinished"; return 1; }
	rm "$build/.unfinished"
}

# What kbuild leaves beside the sources is not for this repository.
install_flavour_modules()
{
	local dir
	flavour_modules | while read -r dir; do
		rm -rf "$build/outside"
		cp -r "$dir" "$build/outside"
		kmake M="$build/outside" modules
		kmake M="$build/outside" INSTALL_MOD_PATH="$image.new" INSTALL_MOD_STRIP=1 modules_install
	done
}

# gdb reads vmlinux-gdb.py beside vmlinux, which reads scripts/gdb beside itself.
install_for_gdb()
{
	[ -n "${GDB:-}" ] || return 0
	kmake scripts_gdb
	mkdir "$image.new/scripts"
	cp "$build/vmlinux" "$src/scripts/"{gdb/vmlinux-gdb.py,decode_stacktrace.sh} "$image.new/"
	cp -rL "$build/scripts/gdb" "$image.new/scripts/"
}

# What the kcsan suite needs to name what it finds.
install_symbols()
{
	[ "$flavour" = kcsan ] || return 0
	objcopy --only-keep-debug "$build/vmlinux" "$image.new/vmlinux.debug"
	nm "$build/kernel/trace/built-in.a" 2>/dev/null |
		awk '$2 ~ /^[tT]$/ { print $3 }' | sort -u >"$image.new/trace.symbols"
}

install_image()
{
	rm -rf "$image.new"
	mkdir "$image.new"
	cp "$build/.config" "$image.new/config"
	if [ "$karch" = um ]; then
		cp "$build/linux" "$image.new/"
	else
		cp "$build/$boots" "$image.new/"
		grep 'warning:' "$logs/build-$label.log" >"$image.new/warnings" || :
		kmake INSTALL_MOD_PATH="$image.new" INSTALL_MOD_STRIP=1 modules_install
		install_flavour_modules
		install_symbols
		install_for_gdb
		rm -f "$image.new"/lib/modules/*/build "$image.new"/lib/modules/*/source
	fi
	mv "$image.new" "$image"
}

# Kernels nobody asked for in a while.
prune_images()
{
	# shellcheck disable=SC2012 # the names are ours, and the time is wanted
	ls -dt "$cache"/image-* 2>/dev/null | tail -n +33 | xargs -r rm -rf || :
}

# Sets up $src and $build for the flavour, under lock_source.
prepare_build()
{
	build=$cache/build-$base_id-${tree:-$flavour}
	[ ! -e "$build/.unfinished" ] || rm -rf "$build"
	mkdir -p "$build"
	sync_source
	step "configuring the $label kernel" "config-$label" configure
}

# Sets image: the folder of the kernel wanted, whether it exists or not.
find_image()
{
	[ ${#fragments[@]} -gt 0 ] || [ -f "$harness/config/$flavour.config" ] ||
		die "FLAVOUR=$flavour: not one of $(cd "$harness/config" && echo *.config | sed 's/\.config//g')" \
		    "nor of $(arch_names | xargs)"
	scratch
	find_base
	stage_onto_base "$work/stage"
	image=$cache/image-$( (echo "$kernel_key $flavour $karch${flavour_make[*]:+ ${flavour_make[*]}}"
		"$compiler" --version
		cat "$harness/shared/cc.sh"
		flavour_fragments | xargs cat
		flavour_modules | while read -r dir; do
			(cd "$dir" && find . -type f | sort | xargs sha256sum)
		done) | hash_of)
}

build_image()
{
	find_image
	[ -d "$image" ] || lock_source
	if [ ! -d "$image" ]; then
		prepare_build
		step "building the $label kernel" "build-$label" compile
		step "installing the $label kernel" "install-$label" install_image
		prune_images
	fi
	touch "$image"
	printf '%s\n' "$image"
}

# Others source this file for its functions.
[ "${BASH_SOURCE[0]}" != "$0" ] || build_image
