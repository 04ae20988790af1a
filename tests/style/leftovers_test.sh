#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# leftovers.py finds a process that was left behind, and nothing where none was.
set -euo pipefail
cd "$(dirname "$0")/../.."

mark=leftovers-test-$$-$RANDOM
check() { tests/support/leftovers.py "$mark" /nonexistent; }

check || { echo "FAILED: found a process where there is none" >&2; exit 1; }

# Away from this script's own descent, as a daemon would be.
SLURMTUNE_TEST_RUN=$mark setsid sleep 60 < /dev/null > /dev/null 2>&1 &
planted=$!
trap 'kill "$planted" 2> /dev/null || true' EXIT
if found=$(check); then
    echo "FAILED: did not find process $planted" >&2
    exit 1
fi
grep -q "sleep 60" <<< "$found" || { echo "FAILED: found only: $found" >&2; exit 1; }
echo "ok"
