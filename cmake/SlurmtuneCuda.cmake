# SPDX-License-Identifier: MIT
#
# CUDA, by SLURMTUNE_CUDA: AUTO takes it where nvcc is, ON needs it, OFF leaves it out. Sets
# SLURMTUNE_WITH_CUDA. Only plug-ins use it, so that all programs start on nodes without.
# Code is made for every architecture that nvcc offers, and PTX of the last for those to come.

set(SLURMTUNE_WITH_CUDA OFF)
set(SLURMTUNE_CUDA_MISSING "SLURMTUNE_CUDA=OFF")
if(SLURMTUNE_CUDA STREQUAL "OFF")
  return()
endif()
if(NOT SLURMTUNE_CUDA MATCHES "^(AUTO|ON)$")
  message(FATAL_ERROR "SLURMTUNE_CUDA=${SLURMTUNE_CUDA}: write AUTO, ON or OFF")
endif()
if(SLURMTUNE_CUDA STREQUAL "AUTO"
   AND (SLURMTUNE_SANITIZE OR SLURMTUNE_COVERAGE OR SLURMTUNE_CLANG_TIDY))
  set(SLURMTUNE_CUDA_MISSING "left out of instrumented builds")
  return()
endif()

find_program(SLURMTUNE_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
             PATH_SUFFIXES bin)
mark_as_advanced(SLURMTUNE_NVCC)
if(NOT SLURMTUNE_NVCC)
  set(SLURMTUNE_CUDA_MISSING "nvcc not found")
  # In CI what is not compiled would rot.
  if(SLURMTUNE_CUDA STREQUAL "ON" OR "$ENV{CI}" STREQUAL "true")
    message(FATAL_ERROR "nvcc was not found: put it on PATH or set CUDA_HOME, or leave CUDA out "
                        "with -D SLURMTUNE_CUDA=OFF")
  endif()
  return()
endif()

execute_process(
  COMMAND "${SLURMTUNE_NVCC}" --list-gpu-arch
  OUTPUT_VARIABLE slurmtune_offered
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9]+" slurmtune_offered "${slurmtune_offered}")
list(SORT slurmtune_offered COMPARE NATURAL)
set(slurmtune_architectures "")
foreach(number IN LISTS slurmtune_offered)
  list(APPEND slurmtune_architectures ${number}-real)
endforeach()
list(GET slurmtune_offered -1 slurmtune_newest)
list(APPEND slurmtune_architectures ${slurmtune_newest}-virtual)

set(CMAKE_CUDA_COMPILER "${SLURMTUNE_NVCC}")
set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
set(CMAKE_CUDA_ARCHITECTURES "${slurmtune_architectures}")
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # nvcc 12 and newer speak C++20; CMake 3.25 does not know it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit QUIET GLOBAL)
if(NOT TARGET CUDA::cublas)
  set(SLURMTUNE_CUDA_MISSING "nvcc ${CMAKE_CUDA_COMPILER_VERSION} has no cuBLAS")
  if(SLURMTUNE_CUDA STREQUAL "ON" OR "$ENV{CI}" STREQUAL "true")
    message(FATAL_ERROR "${SLURMTUNE_CUDA_MISSING} beside it (libcublas-dev)")
  endif()
  return()
endif()
set(SLURMTUNE_WITH_CUDA ON)
