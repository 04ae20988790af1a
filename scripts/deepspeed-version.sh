# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034
#
# Sourced: which DeepSpeed the tests train with, and where it is. The last that runs on Debian 12's
# torch and pydantic, on a CPU, with all ZeRO stages is 0.14.5.

deepspeed_version=0.14.4
deepspeed_environment=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/slurmtune/deepspeed-$deepspeed_version

# Hugging Face's Trainer over it, in an environment beside it: DeepSpeed imports Transformers where
# it is, which the other tests need not wait for. 4.40 is among the last that run on torch 1.13.
transformers_version=4.40.2
trainer_environment=${deepspeed_environment%/*}/transformers-$transformers_version
