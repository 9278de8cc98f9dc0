# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Running the torture program, see ../torture/main.c. Source it after userland.sh.
#
#   TORTURE_SECONDS=	how long (default: 30), and a few seconds for the last round
#   TORTURE_SEED=	the seed of its choices (default: another one each time)
#   SMP=		CPUs, 2

torture_seconds=${TORTURE_SECONDS:-30}
torture_seed=${TORTURE_SEED:-$RANDOM}
export SMP=${SMP:-2}

make_torture()
{
	make -C "$harness/torture" O="$work/with" KHDR_INCLUDES="-isystem $work/tree/usr/include"
}

# The program, into $work/with.
build_torture()
{
	user_tree "$work/tree"
	mkdir "$work/with"
	step "building the torture program" "torture-$FLAVOUR" make_torture
}

# torture_guest SECONDS [BEFORE [AFTER [STOCK]]]: run it in a guest, with shell
# commands before and after. The writers are a module that kernel.sh builds.
torture_guest()
{
	# shellcheck disable=SC2016 # the guest's shell expands it
	WITH=$work/with LIMIT=${LIMIT:-$(($1 * 6 + 400))} "$harness/verbs/guest.sh" '
		module=$(find /lib/modules -name torture_event.ko)
		insmod $module '"${TORTURE_MODULE:-}"' || exit
		'"${2:-}"'
		./torture '"$1 $torture_seed ${4:-}"'
		status=$?
		'"${3:-}"'
		rmmod torture_event || status=1
		exit $status'
}

# However it failed: the choices can be made again, though not the very race.
torture_repeat()
{
	echo "# to repeat: TORTURE_SEED=$torture_seed TORTURE_SECONDS=$torture_seconds SMP=$SMP $1"
}
