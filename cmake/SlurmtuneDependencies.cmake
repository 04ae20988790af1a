# SPDX-License-Identifier: MIT
#
# What we build on, found and never downloaded. Package names are Debian's.

# slurmtune_need(<package> <debian package> [<find_package arguments>…])
function(slurmtune_need package debian_package)
  find_package(${package} ${ARGN} QUIET GLOBAL)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found. On Debian: apt-get install ${debian_package} "
                        "(or scripts/install-deps.sh build)")
  endif()
  message(VERBOSE "${package} ${${package}_VERSION}")
endfunction()

slurmtune_need(Threads libc6-dev)
slurmtune_need(fmt libfmt-dev 9)
slurmtune_need(spdlog libspdlog-dev)
slurmtune_need(CLI11 libcli11-dev 2)
slurmtune_need(nlohmann_json nlohmann-json3-dev 3.11)
slurmtune_need(tomlplusplus libtomlplusplus-dev)
slurmtune_need(tl-expected libexpected-dev)
slurmtune_need(muparser libmuparser-dev)
slurmtune_need(OpenSSL libssl-dev COMPONENTS Crypto)
if(SLURMTUNE_TESTS)
  slurmtune_need(Catch2 catch2)
endif()

# Optional: MPI (the runner, minitrain) and libslurm (a plug-in); CUDA is in SlurmtuneCuda.cmake.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX GLOBAL)
find_package(Slurm QUIET GLOBAL)

# What the tests of a real cluster need.
set(SLURMTUNE_CLUSTER_PROGRAMS slurmctld slurmd munged mungekey sbatch srun squeue scontrol)
set(SLURMTUNE_CLUSTER_MISSING "")
foreach(program IN LISTS SLURMTUNE_CLUSTER_PROGRAMS)
  find_program(SLURMTUNE_PROGRAM_${program} ${program} PATHS /usr/sbin /sbin)
  mark_as_advanced(SLURMTUNE_PROGRAM_${program})
  if(NOT SLURMTUNE_PROGRAM_${program})
    list(APPEND SLURMTUNE_CLUSTER_MISSING ${program})
  endif()
endforeach()
