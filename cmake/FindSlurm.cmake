# SPDX-License-Identifier: MIT
#
# FindSlurm: libslurm, which comes with neither a pkg-config nor a CMake file.
#
# Defines Slurm_FOUND, Slurm_VERSION and the target Slurm::slurm. Hints: Slurm_ROOT.

find_path(Slurm_INCLUDE_DIR slurm/slurm.h)
find_library(Slurm_LIBRARY slurm PATH_SUFFIXES slurm slurm-wlm)
mark_as_advanced(Slurm_INCLUDE_DIR Slurm_LIBRARY)

if(Slurm_INCLUDE_DIR AND EXISTS "${Slurm_INCLUDE_DIR}/slurm/slurm_version.h")
  # SLURM_VERSION_NUMBER is 0xMMmmpp: 22.05.8 is 0x160508.
  file(STRINGS "${Slurm_INCLUDE_DIR}/slurm/slurm_version.h" Slurm_version_line
       REGEX "define[ \t]+SLURM_VERSION_NUMBER[ \t]+0x")
  if(Slurm_version_line MATCHES "0x([0-9a-fA-F]+)")
    math(EXPR Slurm_version_major "(0x${CMAKE_MATCH_1} >> 16) & 255")
    math(EXPR Slurm_version_minor "(0x${CMAKE_MATCH_1} >> 8) & 255")
    math(EXPR Slurm_version_patch "0x${CMAKE_MATCH_1} & 255")
    set(Slurm_VERSION "${Slurm_version_major}.${Slurm_version_minor}.${Slurm_version_patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Slurm
  REQUIRED_VARS Slurm_LIBRARY Slurm_INCLUDE_DIR
  VERSION_VAR Slurm_VERSION)

if(Slurm_FOUND AND NOT TARGET Slurm::slurm)
  add_library(Slurm::slurm UNKNOWN IMPORTED)
  set_target_properties(
    Slurm::slurm PROPERTIES IMPORTED_LOCATION "${Slurm_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                 "${Slurm_INCLUDE_DIR}")
endif()
