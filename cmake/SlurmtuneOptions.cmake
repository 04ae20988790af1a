# SPDX-License-Identifier: MIT
#
# How everything of ours is compiled: the language, the warnings, the sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Rooms are static libraries that also go into plug-ins.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The three programs lie side by side, and plug-ins at ../lib/slurmtune, in the build tree as when
# installed: one rule finds them in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(SLURMTUNE_PLUGIN_DIR "${PROJECT_BINARY_DIR}/lib/slurmtune")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

find_program(SLURMTUNE_CCACHE ccache)
if(SLURMTUNE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SLURMTUNE_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${SLURMTUNE_CCACHE}")
endif()

# Linked PRIVATE by every target of ours, so that no user of the libraries inherits it.
add_library(slurmtune_options INTERFACE)
target_compile_options(
  slurmtune_options
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wold-style-cast
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wcast-align
    -Wformat=2
    -Wimplicit-fallthrough
    -Wextra-semi>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-cond
    -Wduplicated-branches
    -Wlogical-op>
    # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
if(SLURMTUNE_WERROR)
  target_compile_options(slurmtune_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

if(SLURMTUNE_SANITIZE)
  # For all targets and not by slurmtune_options: a mixture of instrumented and other code hides
  # container overflows from ASan.
  add_compile_options(-fsanitize=${SLURMTUNE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SLURMTUNE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumentation makes GCC lose track of what is initialised.
    target_compile_options(slurmtune_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(SLURMTUNE_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

if(SLURMTUNE_CLANG_TIDY)
  find_program(SLURMTUNE_CLANG_TIDY_PROGRAM NAMES clang-tidy clang-tidy-14 REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY "${SLURMTUNE_CLANG_TIDY_PROGRAM};--quiet")
endif()
