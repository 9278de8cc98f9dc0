#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/debian.sh: the packages of "make deb", with the trimmed configuration,
# on a Debian 12 of its own, in a guest with GRUB and systemd: installed beside
# Debian's kernel, booted, used, removed. KEEP=dir keeps the logs of the three
# boots there.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/tap.sh"

# What the machine has and what our packages depend on: the guest has no network.
in_root=(systemd-sysv dbus udev kmod procps initramfs-tools zstd grub-pc-bin grub2-common
	linux-image-cloud-amd64 libtracecmd-dev libtraceevent-dev libzstd-dev)

make_packages()
{
	"$harness/verbs/deb.sh" "$work/deb"
	CONFIG=trimmed "$harness/verbs/deb-kernel.sh" "$work/deb"
}

# The archive that this machine itself installs Debian's packages from
archive()
{
	# shellcheck disable=SC2016 # apt-get expands them
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u
}

# The options with which apt reaches that archive
apt_options() { apt-config dump | sed -n 's/^\(Acquire::\(http\|https\|Check[^:]*\)[: ].*\)/--aptopt=\1/p'; }

make_root()
{
	local include options
	archive >"$work/sources.list"
	include=$(IFS=,; echo "${in_root[*]}")
	mapfile -t options < <(apt_options)
	mmdebstrap "${options[@]}" --variant=minbase --include="$include" \
		bookworm "$work/root.tar" "$work/sources.list"
}

# A module of ours, built as its user does, with nothing but the headers package.
make_module()
{
	local headers
	dpkg-deb -x "$work"/deb/linux-headers-*.deb "$work/headers"
	headers=$(echo "$work"/headers/usr/src/linux-headers-*)
	mkdir "$work/module"
	echo 'obj-m := outside.o' >"$work/module/Kbuild"
	cat >"$work/module/outside.c" <<-'EOM'
		#include <linux/module.h>
		#include <linux/trace_events.h>

		static int __init module_start(void)
		{
			trace_printk("a module was here\n");
			return 0;
		}

		static void __exit module_stop(void)
		{
		}

		module_init(module_start);
		module_exit(module_stop);
		MODULE_DESCRIPTION("Built with the headers package");
		MODULE_LICENSE("GPL");
	EOM
	make -C "$headers" M="$work/module" modules
}

grub_settings()
{
	cat <<-'EOM'
		GRUB_TIMEOUT=1
		GRUB_TERMINAL=serial
		GRUB_SERIAL_COMMAND=serial
		GRUB_CMDLINE_LINUX_DEFAULT=""
		GRUB_CMDLINE_LINUX="console=ttyS0 tsc=reliable watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=150"
	EOM
}

unit()
{
	cat <<-'EOM'
		[Unit]
		Description=What suites/debian.sh has to do in this boot
		After=multi-user.target dev-vport1p1.device

		[Service]
		Type=exec
		ExecStart=/harness/run
	EOM
}

# Into the root: what the test adds to it
furnish()
{
	local root=$1 units=$1/etc/systemd/system
	mkdir -p "$root/harness" "$root/etc/default/grub.d" "$units/multi-user.target.wants"
	cp -R "$work/deb" "$work/module/outside.ko" "$root/harness"
	install -m 755 "$harness/guest/debian.guest" "$root/harness/run"
	echo install >"$root/harness/step"
	unit >"$units/harness.service"
	ln -s ../harness.service "$units/multi-user.target.wants/harness.service"
	grub_settings >"$root/etc/default/grub.d/harness.cfg"
	echo '/dev/vda1 / ext4 errors=remount-ro 0 1' >"$root/etc/fstab"
	echo guest >"$root/etc/hostname"
}

# Run by fakeroot, for the owners of the files. Devices are udev's.
make_disk()
{
	local root=$work/root
	mkdir "$root"
	tar -C "$root" --exclude='./dev/*' -xf "$work/root.tar"
	furnish "$root"
	rm -f "$work/disk"
	truncate -s 4G "$work/disk"
	echo '2048,,83,*' | /sbin/sfdisk -q "$work/disk"
	/sbin/mke2fs -q -t ext4 -E offset=$((2048 * 512)) -d "$root" "$work/disk" $((4 * 1024 * 1024 - 1024))k
	mkdir -p "$work/boot"
	cp "$root"/boot/vmlinuz-*-cloud-amd64 "$work/boot/vmlinuz"
	cp "$root"/boot/initrd.img-*-cloud-amd64 "$work/boot/initrd.img"
}

make_disk_as_root()
{
	export work harness
	fakeroot bash -euc "$(declare -f make_disk furnish unit grub_settings); make_disk"
}

# boot NAME [VARIABLE=value...]: the guest prints the results of what it does
boot()
{
	local name=$1 console=${KEEP:-$work}/console-$1 status=0
	shift
	env DISK="$work/disk" CONSOLE="$console" LIMIT="${LIMIT:-900}" "$@" "$harness/verbs/guest.sh" || status=$?
	result $status "boot $name: the guest ends well, and the kernel did not complain"
}

scratch
[ -z "${KEEP:-}" ] || mkdir -p "$KEEP"
echo 1..28
check "the packages are made" make_packages
check "a module is built with the headers package" make_module
check "a Debian root is made" make_root
check "a disk is made of it" make_disk_as_root
boot install BOOT="$work/boot" APPEND="root=/dev/vda1 ro"
boot ours
boot stock
