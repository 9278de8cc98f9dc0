#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# cc.sh COMPILER ARGUMENT...: compile through ccache, but for what the assembler
# includes by .incbin. With CCACHE_DEPEND ccache does not see such a file, and gives the
# object of another one back if the source is the same: piggy.S, which takes the whole
# kernel in, has nothing else of it than its sizes.

case " $* " in
*".S "*|*/kernel/configs.c*|*/kernel/kheaders.c*) exec "$@" ;;
esac
exec ccache "$@"
