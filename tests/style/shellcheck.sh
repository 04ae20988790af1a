#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Checks every shell script: by name (*.sh, *.sbatch) or by its first line.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts=()
while IFS= read -r file; do
    # Job scripts in scripts/sbatch are templates: @NAME@ is filled in before a shell reads them.
    # Rendered ones hold lines of users, and are compared word for word by the golden tests.
    case $file in scripts/sbatch/* | tests/golden/expected/*) continue ;; esac
    case $file in
    *.sh | *.sbatch) scripts+=("$file") ;;
    *) IFS= read -r first < "$file" || true
       case ${first-} in '#!'*[/\ ]bash* | '#!'*/sh*) scripts+=("$file") ;; esac ;;
    esac
done < <(find . -path ./build -prune -o -path ./.git -prune -o -type f -print |
    sed 's|^\./||' | LC_ALL=C sort)

[ ${#scripts[@]} -gt 0 ] || { echo "no scripts found in $PWD" >&2; exit 1; }
shellcheck --external-sources --source-path=SCRIPTDIR "${scripts[@]}"
echo "${#scripts[@]} scripts, no complaint"
