#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/samples.sh: run the samples. They print each event that is written, once and in
# order, or report it as lost.

. "$(dirname "$0")/../shared/start.sh"
. "$harness/shared/patch-files.sh"
. "$harness/shared/source.sh"
. "$harness/shared/userland.sh"
. "$harness/shared/sample-build.sh"

scratch
find_base
build_samples
cp "$harness/guest/samples.guest" "$work/with/samples"
WITH=$work/with LIMIT=${LIMIT:-300} "$harness/verbs/guest.sh" 'sh ./samples'
