# SPDX-License-Identifier: MIT
#
# One function for each kind of target. DEPENDS are rooms (base, record, …), LINKS are libraries of
# others (fmt::fmt, MPI::MPI_CXX, …).

# Links <target> with the rooms <depends> and the libraries <links> by <scope>.
function(slurmtune_link target scope depends links)
  foreach(room IN LISTS depends)
    if(NOT TARGET slurmtune_${room})
      message(FATAL_ERROR "${target} depends on the room '${room}', which is not there, or only "
                          "comes after it (SLURMTUNE_ROOMS)")
    endif()
    target_link_libraries(${target} ${scope} slurmtune::${room})
  endforeach()
  target_link_libraries(${target} ${scope} ${links})
  target_link_libraries(${target} PRIVATE slurmtune_options)
endfunction()

# slurmtune_add_room(<room> SOURCES … [DEPENDS <room>…] [LINKS <library>…])
#
# A static library slurmtune_<room>, alias slurmtune::<room>.
function(slurmtune_add_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINKS")
  slurmtune_no_leftovers(${room} "${arg_UNPARSED_ARGUMENTS}")
  add_library(slurmtune_${room} STATIC ${arg_SOURCES})
  add_library(slurmtune::${room} ALIAS slurmtune_${room})
  target_include_directories(
    slurmtune_${room} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  slurmtune_link(slurmtune_${room} PUBLIC "${arg_DEPENDS}" "${arg_LINKS}")
  slurmtune_check_headers(${room})
endfunction()

# slurmtune_add_program(<name> SOURCES … [DEPENDS <room>…] [LINKS <library>…])
#
# A program, built into bin/ and installed.
function(slurmtune_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINKS")
  slurmtune_no_leftovers(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  slurmtune_link(${name} PRIVATE "${arg_DEPENDS}" "${arg_LINKS}")
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# slurmtune_add_plugin(<name> SOURCES … [DEPENDS <room>…] [LINKS <library>…])
#
# A library <name>.so that a program loads at run time from ../lib/slurmtune beside its own bin/.
function(slurmtune_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;LINKS")
  slurmtune_no_leftovers(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_library(${name} MODULE ${arg_SOURCES})
  # Installed, a plug-in still finds what it was linked with outside of the system's directories
  # (CUDA): no user's LD_LIBRARY_PATH is to be relied on.
  set_target_properties(
    ${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${SLURMTUNE_PLUGIN_DIR}"
                       INSTALL_RPATH_USE_LINK_PATH ON)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  slurmtune_link(${name} PRIVATE "${arg_DEPENDS}" "${arg_LINKS}")
  install(TARGETS ${name} LIBRARY DESTINATION lib/slurmtune)
endfunction()

# slurmtune_add_test(<name> LABEL <label>… SOURCES … [DEPENDS <room>…] [LINKS <library>…]
#                    [CLUSTER] [TIMEOUT <seconds>])
#
# A Catch2 program and a CTest test of the same name. LABEL: unit, golden, contract, cluster, mpi,
# gpu, regression, bench. The sources see SLURMTUNE_SOURCE_DIR, SLURMTUNE_BINARY_DIR and
# SLURMTUNE_BIN_DIR (where our programs are) as string literals. CLUSTER and TIMEOUT as below.
function(slurmtune_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CLUSTER" "TIMEOUT" "LABEL;SOURCES;DEPENDS;LINKS")
  slurmtune_no_leftovers(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(
    ${name}
    PRIVATE SLURMTUNE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
            SLURMTUNE_BINARY_DIR="${PROJECT_BINARY_DIR}"
            SLURMTUNE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(NOT bench IN_LIST arg_LABEL)
    # Assertions take the compiler longer than they ever run; what they test is optimised.
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  slurmtune_link(${name} PRIVATE "${arg_DEPENDS}" "${arg_LINKS};Catch2::Catch2WithMain")
  set(cluster "")
  if(arg_CLUSTER)
    set(cluster shared)
  endif()
  slurmtune_register_test(${name} "${cluster}" "${arg_LABEL}" "${arg_TIMEOUT}"
                          "$<TARGET_FILE:${name}>")
endfunction()

# slurmtune_add_script_test(<name> LABEL <label>… COMMAND … [CLUSTER|OWN_CLUSTER]
#                           [TIMEOUT <seconds>])
#
# A CTest test that is a command. It finds SLURMTUNE_SOURCE_DIR and SLURMTUNE_BIN_DIR in its
# environment. Exit code 125 means skipped (tests/support/skip.sh). With CLUSTER it runs in
# tests/cluster/with-cluster.sh, on the cluster that the fixture brings up, and has the label
# cluster too; with OWN_CLUSTER on a cluster of its own, beside other tests: for what mostly waits.
# TIMEOUT: 120 if not given.
#
# `ctest -j3` runs one test at a time that has timing to itself (all but unit, golden and style),
# and those with a cluster of their own beside it.
function(slurmtune_add_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CLUSTER;OWN_CLUSTER" "TIMEOUT" "LABEL;COMMAND")
  slurmtune_no_leftovers(${name} "${arg_UNPARSED_ARGUMENTS}")
  set(cluster "")
  if(arg_OWN_CLUSTER)
    set(cluster own)
  elseif(arg_CLUSTER)
    set(cluster shared)
  endif()
  slurmtune_register_test(${name} "${cluster}" "${arg_LABEL}" "${arg_TIMEOUT}" "${arg_COMMAND}")
endfunction()

set(SLURMTUNE_CLUSTER_RECORD "${PROJECT_BINARY_DIR}/cluster_dir")

function(slurmtune_register_test name cluster labels timeout command)
  if(NOT labels)
    message(FATAL_ERROR "test ${name} needs a LABEL")
  endif()
  if(NOT timeout)
    set(timeout 120)
  endif()
  set(environment SLURMTUNE_SOURCE_DIR=${PROJECT_SOURCE_DIR}
                  SLURMTUNE_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  if(cluster)
    list(APPEND labels cluster)
    list(REMOVE_DUPLICATES labels)
    set(record "${SLURMTUNE_CLUSTER_RECORD}")
    if(cluster STREQUAL "own")
      string(APPEND record "_${name}")
      list(APPEND environment SLURMTUNE_OWN_CLUSTER=1)
    endif()
    list(APPEND environment SLURMTUNE_CLUSTER_RECORD=${record})
    list(PREPEND command "${PROJECT_SOURCE_DIR}/tests/cluster/with-cluster.sh")
  endif()
  add_test(NAME ${name} COMMAND ${command})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE 125
                                          ENVIRONMENT "${environment}")
  if(cluster STREQUAL "own")
    set_tests_properties(${name} PROPERTIES COST 3) # the first to start
    return()
  endif()
  list(FILTER labels EXCLUDE REGEX "^(unit|golden|style)$")
  if(labels)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK machine COST 1)
  else()
    set_tests_properties(${name} PROPERTIES COST 2)
  endif()
  if(cluster STREQUAL "shared")
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED cluster)
  endif()
endfunction()

# With SLURMTUNE_HEADER_CHECK: compiles every header of <room> as the only include of a source.
function(slurmtune_check_headers room)
  if(NOT SLURMTUNE_HEADER_CHECK)
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/src"
       "${PROJECT_SOURCE_DIR}/src/slurmtune/${room}/*.hpp")
  set(sources "")
  foreach(header IN LISTS headers)
    string(REPLACE "/" "_" source "${header}")
    set(source "${PROJECT_BINARY_DIR}/headers/${source}.cpp")
    # Twice: a header without #pragma once does not survive it.
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND sources "${source}")
  endforeach()
  if(sources)
    add_library(slurmtune_${room}_headers OBJECT ${sources})
    set_target_properties(slurmtune_${room}_headers PROPERTIES CXX_CLANG_TIDY "")
    target_link_libraries(slurmtune_${room}_headers PRIVATE slurmtune_${room} slurmtune_options)
  endif()
endfunction()

function(slurmtune_no_leftovers name leftovers)
  if(leftovers)
    message(FATAL_ERROR "${name}: arguments that mean nothing: ${leftovers}")
  endif()
endfunction()
