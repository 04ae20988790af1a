#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# install-deps.sh [build] [test] [dev]
#
# Installs what is missing of the packages that a build, the tests, or development needs: all of
# them if none is named. On Debian 12 or a later relative, as root or with sudo. Without either it
# only looks, and says what is missing. Where nothing is missing, apt is not run.
#
# For the tests two Python environments are made in ~/.cache/slurmtune, by pip, on Debian's torch
# for CPUs: one with DeepSpeed, one with Hugging Face's Transformers and Accelerate.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
. scripts/deepspeed-version.sh

build=(
    g++ cmake ninja-build ccache pkg-config
    libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libexpected-dev
    libmuparser-dev libssl-dev libopenmpi-dev openmpi-bin
)
test=(
    catch2 libslurm-dev slurmctld slurmd slurm-client munge
    python3 shellcheck clang-format procps iproute2 hostname util-linux
    # real DeepSpeed; torch's matrix product is 40 times slower without OpenBLAS
    python3-venv python3-torch libopenblas0-pthread python3-numpy python3-pydantic python3-psutil
    python3-cpuinfo python3-tqdm python3-packaging python3-tabulate python3-requests python3-yaml
)
dev=(make git clang-tidy)

case ${1:-} in -h | --help) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
[ $# -gt 0 ] || set -- build test dev
wanted=()
for list in "$@"; do
    case $list in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    dev) wanted+=("${dev[@]}") ;;
    *) echo "install-deps.sh: no list '$list'; there are build, test and dev" >&2; exit 2 ;;
    esac
done

command -v dpkg-query > /dev/null || fail "this is not Debian; needed by their Debian names:
  ${wanted[*]}"

missing=()
for package in "${wanted[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done

may_sudo() { # without a password, or with one if there is somebody to ask
    command -v sudo > /dev/null || return 1
    sudo -n true 2> /dev/null || { [ -t 0 ] && sudo -v; }
}

install_packages() { # package…
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
        may_sudo || fail "packages are missing, and you are neither root nor may use sudo. As root:
  apt-get update && apt-get install --no-install-recommends $*"
    fi
    echo "to install: $*"
    for attempt in 1 2 3; do
        apt update && break
        [ "$attempt" -lt 3 ] || fail "apt-get update failed three times"
        echo "  apt-get update failed; again in $((attempt * 10)) s"
        sleep $((attempt * 10))
    done
    apt install --no-install-recommends "$@" || fail "apt-get install failed"
    echo "installed $# packages and what they need"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() { # arguments of apt-get… -> its progress, shortened; all of it if it fails
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" \
        < /dev/null 2>&1 | tee "$log" |
        awk '/^Need to get|newly installed/ { print "  " $0 }
             /^Unpacking/ { unpacked++ }
             /^Setting up/ && ++ready % 20 == 0 { print "  " ready " of " unpacked " set up" }
             { fflush() }'; then
        cat "$log" >&2
        return 1
    fi
}

# Its last file says that the environment is whole.
make_deepspeed() (
    mkdir -p "$(dirname "$deepspeed_environment")" || exit 1
    exec 9> "$deepspeed_environment.lock" && flock 9 || exit 1
    [ ! -e "$deepspeed_environment/whole" ] || exit 0
    echo "to make: $deepspeed_environment"
    rm -rf "$deepspeed_environment" &&
        /usr/bin/python3 -m venv --system-site-packages "$deepspeed_environment" &&
        env -u CUDA_HOME -u CUDA_PATH DS_BUILD_OPS=0 \
            "$deepspeed_environment/bin/python" -m pip install --quiet --no-deps \
            --retries 3 --disable-pip-version-check \
            "deepspeed==$deepspeed_version" hjson==3.1.0 &&
        touch "$deepspeed_environment/whole"
)

# It finds DeepSpeed in the environment above, by a line of a .pth file.
make_trainer() (
    exec 9> "$trainer_environment.lock" && flock 9 || exit 1
    [ ! -e "$trainer_environment/whole" ] || exit 0
    echo "to make: $trainer_environment"
    rm -rf "$trainer_environment" &&
        /usr/bin/python3 -m venv --system-site-packages "$trainer_environment" &&
        "$trainer_environment/bin/python" -m pip install --quiet --no-deps --only-binary :all: \
            --retries 3 --disable-pip-version-check \
            "transformers==$transformers_version" accelerate==0.30.1 tokenizers==0.19.1 \
            safetensors==0.4.5 huggingface_hub==0.23.5 filelock==3.16.1 fsspec==2024.9.0 \
            regex==2024.9.11 &&
        "$deepspeed_environment/bin/python" -c \
            'import sysconfig; print(sysconfig.get_path("purelib"))' \
            > "$("$trainer_environment/bin/python" -c \
                'import sysconfig; print(sysconfig.get_path("purelib"))')/deepspeed.pth" &&
        touch "$trainer_environment/whole"
)

if [ ${#missing[@]} -eq 0 ]; then
    echo "all ${#wanted[@]} packages are there"
else
    install_packages "${missing[@]}"
fi

case " $* " in
*" test "*)
    if ! make_deepspeed; then
        [ "${CI:-}" != true ] || fail "DeepSpeed $deepspeed_version could not be installed"
        echo "DeepSpeed $deepspeed_version could not be installed; its tests will be skipped"
    elif ! make_trainer; then
        [ "${CI:-}" != true ] || fail "Transformers $transformers_version could not be installed"
        echo "Transformers $transformers_version could not be installed; its test will be skipped"
    fi
    ;;
esac
