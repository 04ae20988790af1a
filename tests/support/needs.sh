#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# needs.sh WHAT PROGRAM… -- COMMAND…
#
# Runs COMMAND if every PROGRAM is there, else skips: for CTest tests that are not scripts of ours.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
. "$(dirname "$0")/skip.sh"

what=$1
shift
programs=()
while [ "$1" != -- ]; do
    programs+=("$1")
    shift
done
shift
if [ "$what" = gpu ]; then
    { [ -e /dev/nvidiactl ] || [ -e /dev/nvidia0 ]; } || skip gpu "no NVIDIA GPU on this machine"
fi
need_program "$what" "${programs[@]}"
exec "$@"
