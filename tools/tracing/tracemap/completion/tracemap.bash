# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of the tracemap command for bash. Source it, or have it in
# /usr/share/bash-completion/completions/tracemap.
#
# Names of events and the like come from tracefs, where that can be read.

# The options of a verb, which the command's help has.
_tracemap_options()
{
	"${COMP_WORDS[0]}" "$1" --help 2>/dev/null |
		sed -n 's/^ *\(-.*\)/\1/p' | sed 's/  .*//' | grep -oE -- '--?[A-Za-z][a-z-]*'
	echo -h --help
}

_tracemap_tracefs()
{
	local dir
	for dir in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		[ ! -r "$dir/trace" ] || { echo "$dir"; return; }
	done
}

# Those that are offline, too: their buffers may hold events.
_tracemap_cpus()
{
	local dir
	for dir in /sys/devices/system/cpu/cpu[0-9]*; do
		echo "${dir##*/cpu}"
	done
}

# Systems, until the colon is there: there are thousands of events.
_tracemap_events()
{
	case $2 in
	*:*)	grep -F -- "${2%%:*}:" "$1/available_events" ;;
	*)	sed 's/:.*/:/' "$1/available_events" | sort -u ;;
	esac 2>/dev/null
}

# The fields of the events that the words $2... name.
_tracemap_fields()
{
	local fs=$1 word system event
	for word in "${@:2}"; do
		IFS=: read -r system event _ <<<"${word#--event=}"
		[ -z "$event" ] ||
			sed -n 's/.*field:[^;]*[ *]\([A-Za-z_0-9]*\)[^; ]*;.*/\1/p' "$fs/events/$system/$event/format"
	done 2>/dev/null
}

# What may follow option $1 of verb $3 as its value, of which $2 was typed, behind
# the words $4...; fails if that option has none.
_tracemap_values()
{
	local fs
	fs=$(_tracemap_tracefs)
	case $1 in
	-e|--event|--when) _tracemap_events "$fs" "$2" ;;
	-p|--tracer)	cat "$fs/available_tracers" 2>/dev/null ;;
	-l|--function)	[ ${#2} -lt 3 ] || grep -- "^$2" "$fs/available_filter_functions" 2>/dev/null |
				sed 's/ .*//' | head -n 1000 ;;
	-P|--pid)	(cd /proc && echo [0-9]*) ;;
	-C|--cpus)	_tracemap_cpus ;;
	-i|--instance)	echo /; ls "$fs/instances" 2>/dev/null ;;
	--clock)	tr -d '[]' <"$fs/trace_clock" 2>/dev/null ;;
	--way)		echo read map observe ;;
	--by)		echo event task; _tracemap_fields "$fs" "${@:4}" ;;
	--key)		_tracemap_fields "$fs" "${@:4}" ;;
	--between)	_tracemap_events "$fs" "$2" ;;
	--signal)	echo USR1 USR2 ;;
	--last|--every|--after|--keep|--split) ;;
	-t|--task|--from|--to|-f|--filter|-b|--buffer|--buffer-total|--duration|--size|--until|--subbuf|-n|--count|--max-rows|-d|--interval)
			;;
	*)		return 1 ;;
	esac
	return 0
}

# Bash replaces what follows the last ':' or '=' only.
_tracemap_cut_prefix()
{
	local prefix=$1 i
	case $prefix in
	*[:=]*)	prefix=${prefix%"${prefix##*[:=]}"} ;;
	*)	return ;;
	esac
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"$prefix"}
	done
}

# _tracemap_complete CURRENT WORDS: those that begin with CURRENT.
_tracemap_complete()
{
	mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
	[ "${#COMPREPLY[@]}" -ne 1 ] || case ${COMPREPLY[0]} in
	*:)	compopt -o nospace 2>/dev/null ;;
	esac
	_tracemap_cut_prefix "$1"
}

# Behind "--": a command, then its arguments, of which nothing is known but files.
_tracemap_command()
{
	if [ "$1" = -- ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		compopt -o default 2>/dev/null
	fi
}

_tracemap()
{
	local line=${COMP_LINE:0:COMP_POINT} current='' last verb words values
	COMPREPLY=()
	# By blanks: an event has a colon, and bash would cut it there.
	read -ra words <<<"$line"
	case $line in
	*[![:space:]])
		current=${words[-1]}
		unset 'words[-1]' ;;
	esac
	last=${words[-1]}
	# It has two values.
	[ "${#words[@]}" -lt 2 ] || [ "${words[-2]}" != --between ] || last=--between
	verb=${words[1]-}
	case " ${words[*]:1} " in
	*' -- '*)	_tracemap_command "$last" "$current"; return ;;
	esac
	if [ -z "$verb" ]; then
		_tracemap_complete "$current" 'stream record report snap stat top info --help --version'
		return
	fi
	case $current in
	--*=*)	last=${current%%=*} current=${current#*=} ;;
	esac
	case $last in
	-o|--output|--restore|--cgroup)	compopt -o default 2>/dev/null; return ;;
	esac
	[ "$verb" != report ] || case $current in
	-*)	;;
	*)	compopt -o default 2>/dev/null ;;
	esac
	if values=$(_tracemap_values "$last" "$current" "$verb" "${words[@]}"); then
		_tracemap_complete "$current" "$values"
	else
		_tracemap_complete "$current" "$(_tracemap_options "$verb")"
	fi
}

complete -F _tracemap tracemap
