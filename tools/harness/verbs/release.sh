#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# release.sh [FOLDER]: all that a release is, and SHA256SUMS over it:
#
#   ringmap-VERSION-series-6.1.tar.gz	the mails of the series
#   *.deb, *.dsc, *.tar.xz		the library and the command
#   linux-*.deb				with KERNEL=cloud, which takes hours to
#					build, or KERNEL=trimmed: the kernel
#
# It is made from a commit that has the version's tag and from nothing else;
# DRAFT=yes makes one from what is there. The same commit, the same user.name
# and user.email of git, who sign the mails, and the same compiler make the
# same bytes, but for the kernel's packages.

. "$(dirname "$0")/../shared/start.sh"

out=${1:-$top/build/release}
version=$(cat "$harness/version")
series=ringmap-$version-series-$linux

case ${KERNEL:-none} in
none|cloud|trimmed) ;;
*)	die "KERNEL=$KERNEL: not one of cloud, trimmed" ;;
esac

in_top() { git -c safe.directory='*' -C "$top" "$@"; }

refuse_draft()
{
	[ -z "$(in_top status --porcelain)" ] ||
		die "there are changes that are not committed: commit them, or make a draft: DRAFT=yes" \
			"$(in_top status --short | head)"
	[ "$(in_top rev-parse -q --verify "v$version^{commit}")" = "$(in_top rev-parse HEAD)" ] ||
		die "the last commit does not have the tag v$version. When it has passed \"make test\":" \
			"  git tag -a v$version    or make a draft: DRAFT=yes"
}

pack_series()
{
	"$harness/verbs/series.sh" "$work/$series" >/dev/null
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--mode=u=rwX,go=rX --format=gnu -c "$series" | gzip -9n >"$work/out/$series.tar.gz"
}

scratch
"$harness/verbs/set-version.sh"
SOURCE_DATE_EPOCH=$(in_top log -1 --format=%ct)
export SOURCE_DATE_EPOCH
if [ "${DRAFT:-}" = yes ]; then
	say "-- a draft, of what is there: not to be given away as $version"
else
	refuse_draft
fi
mkdir "$work/out"
pack_series
SOURCE=yes "$harness/verbs/deb.sh" "$work/out" >/dev/null
[ -z "${KERNEL:-}" ] || CONFIG=$KERNEL "$harness/verbs/deb-kernel.sh" "$work/out" >/dev/null
(cd "$work/out" && sha256sum -- * >"$work/SHA256SUMS")
mv "$work/SHA256SUMS" "$work/out"
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$work/out" "$out"
say "-- release $version; \"sha256sum -c SHA256SUMS\" there says whether it is whole"
ls "$out"/*
