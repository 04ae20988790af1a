#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install_test.sh BUILD_DIRECTORY VERSION
#
# What is installed is complete, and runs from there without the source tree.
set -euo pipefail

build=$1 version=$2
source_tree=$SLURMTUNE_SOURCE_DIR
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

missing() {
    echo "FAILED: $1 was not installed" >&2
    exit 1
}

cmake --install "$build" --prefix "$prefix" > /dev/null

for program in "$build"/bin/*; do
    [ -x "$prefix/bin/$(basename "$program")" ] || missing "$program"
done
while read -r data; do
    cmp "$source_tree/$data" "$prefix/share/slurmtune/$data" || missing "$data"
done < <(cd "$source_tree" && find templates site-configs -type f)
for plugin in "$build"/lib/slurmtune/*.so; do
    [ -e "$plugin" ] || continue # built without libslurm
    [ -e "$prefix/lib/slurmtune/$(basename "$plugin")" ] || missing "$plugin"
done

cd "$prefix"
said=$(env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$prefix" slurmtune --version)
grep -qF "$version" <<< "$said" || { echo "FAILED: --version says $said" >&2; exit 1; }
echo "installed and runs: $said"
