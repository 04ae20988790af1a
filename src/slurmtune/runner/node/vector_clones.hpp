// SPDX-License-Identifier: MIT
#pragma once

// One function, compiled for several vector widths; the loader picks the widest that the processor
// has. Sanitizers are left out: the loader would call the picker before their runtime is set up.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SLURMTUNE_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SLURMTUNE_VECTOR_CLONES
#endif
