# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# The machines that kernels are built for and booted on. Source it after start.sh.
#
# Each file under arch/ is one, by the name that make test ARCH= knows. It may set
#
#	only_built	1: it is not booted
#	kernel		the flavour of the kernel, if that is not of the same name
#	karch		what the kernel's Makefile calls the architecture
#	cross		what the cross compiler's name begins with
#	compiler	the kernel's compiler, if it is not ${cross}gcc
#	fragments	the files config/*.config the kernel is configured by
#	boots		the file of the build that is booted, or would be
#	qemu		what emulates the machine, and how the machine is called there
#	cpu		its processors, when they are emulated
#	tcg_append	kernel parameters it needs then
#	thread		single: its CPUs take turns then, because it patches code that
#			another one may be running
#	console_tty	where the kernel's messages go
#	ports		QEMU's device for virtio ports
#	user_cross	the cross compiler of the programs, if it is another one
#	compat_cross	that of 32-bit programs, which run beside those of 64
#	lacks		what its kernel has not, as the selftests are told it: -DNO_...
#	shell		yes: busybox of this machine runs there
#
# What is not set is that of x86-64, but for compat_cross (none) and shell (no).

arch_names() { (cd "$harness/arch" && ls); }

arch_file() { [ -f "$harness/arch/$1" ] && echo "$harness/arch/$1"; }

# load_arch NAME
load_arch()
{
	local file

	only_built=0 kernel='' karch=x86_64 cross='' compiler='' fragments=() boots=arch/x86/boot/bzImage
	qemu=(qemu-system-x86_64 -machine q35) cpu=max,la57=off tcg_append="tsc=reliable no_timer_check"
	console_tty=ttyS0 ports=virtio-serial-pci user_cross=''
	compat_cross=i686-linux-gnu- lacks='' shell=yes thread=multi
	if file=$(arch_file "$1"); then
		shell=no compat_cross=
		# shellcheck disable=SC1090 # one of many
		. "$file"
	fi
	compiler=${compiler:-${cross}gcc}
	user_cross=${user_cross:-$cross}
}

# in_turn: a command for the guest of the loaded machine that runs each of the
# commands that come in, one a line, and fails if one of them does.
in_turn()
{
	if [ "$shell" = no ]; then
		cat
	else
		echo status=0
		# shellcheck disable=SC2016 # the guest's shell expands it
		sed 's/.*/echo "# & (at $(cut -d. -f1 \/proc\/uptime) s)"; & || status=1/'
		# shellcheck disable=SC2016 # the guest's shell expands it
		echo 'exit $status'
	fi
}
