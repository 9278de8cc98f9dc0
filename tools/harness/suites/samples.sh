#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# suites/samples.sh: the samples, run for real. Every event written is either
# printed, once and in order, or reported lost.

. "$(dirname "$0")/../lib.sh"
. "$harness/series.sh"
. "$harness/source.sh"
. "$harness/userland.sh"
. "$harness/sample.sh"

scratch
find_base
build_samples
cp "$harness/suites/samples.guest" "$work/with/samples"
WITH=$work/with LIMIT=${LIMIT:-300} "$harness/guest.sh" 'sh ./samples'
