# Sets the compile options that all targets share, and defines the functions that declare targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Without NDEBUG, so that asserts stay on; CMake's default flags would define it.
set(PLUMBLINE_DEBUG_INFO -g1 CACHE STRING "Debug information of RelWithDebInfo, such as -g1 or -g0")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 ${PLUMBLINE_DEBUG_INFO}" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 ${PLUMBLINE_DEBUG_INFO}" CACHE STRING "" FORCE)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
find_program(CCACHE ccache)
# All build directories share the cache, because `pip install .` compiles the same files in another.
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  if(CMAKE_UNITY_BUILD)
    # Makes paths relative: unity sources and the headers that CMake writes are in this directory.
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_BASEDIR=${PROJECT_BINARY_DIR})
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Lets built programs and libraries find the shared libraries of a bundle (ci/gpu.sh --pack).
# DT_RPATH, not DT_RUNPATH, because it also applies to the dependencies of those libraries.
# Installed programs have neither.
list(APPEND CMAKE_BUILD_RPATH "$ORIGIN/../lib/shared" "$ORIGIN/../shared"
  "$ORIGIN/../../lib/shared" "$ORIGIN/../../shared")
add_link_options(LINKER:--disable-new-dtags)

# gold links a test program in less than half the time of ld.
option(PLUMBLINE_GOLD "Link programs by gold, if it is there" OFF)
if(PLUMBLINE_GOLD)
  find_program(PLUMBLINE_LD_GOLD ld.gold)
  if(PLUMBLINE_LD_GOLD)
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fuse-ld=gold>)
  endif()
endif()

include(Seconds)

add_library(plumbline_options INTERFACE)
# x86-64-v3 (AVX2, FMA) without contraction: output bits must not depend on the machine
# (docs/judging-comparisons.md, "Against the past"). Unity builds use -Wshadow=local, because a
# local name may equal a global name of an earlier file.
set(PLUMBLINE_WSHADOW -Wshadow)
if(CMAKE_UNITY_BUILD)
  set(PLUMBLINE_WSHADOW -Wshadow=local)
endif()
target_compile_options(plumbline_options INTERFACE -march=x86-64-v3 -ffp-contract=off -Wall -Wextra
  -Wpedantic ${PLUMBLINE_WSHADOW}
  $<$<BOOL:${PLUMBLINE_WERROR}>:-Werror>)
target_include_directories(plumbline_options INTERFACE ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/generated)
if(PLUMBLINE_SANITIZE)
  target_compile_options(plumbline_options INTERFACE -fsanitize=${PLUMBLINE_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer
    # False warnings of g++ 12: in <regex> with AddressSanitizer (GCC bug 105562), and reads past
    # the end in std::string with ThreadSanitizer.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
  target_link_options(plumbline_options INTERFACE -fsanitize=${PLUMBLINE_SANITIZE})
endif()
if(PLUMBLINE_COVERAGE)
  # Atomic counters make tests five times slower, but plain ones lose updates when fibers switch or
  # threads race. Folders whose code runs in fibers set this variable to atomic, and
  # plumbline_discover_tests() gives each test one processor.
  set(PLUMBLINE_GCOV_UPDATE single)
  define_property(TARGET PROPERTY PLUMBLINE_GCOV_UPDATE
    INITIALIZE_FROM_VARIABLE PLUMBLINE_GCOV_UPDATE)
  target_compile_options(plumbline_options INTERFACE --coverage
    -fprofile-update=$<TARGET_PROPERTY:PLUMBLINE_GCOV_UPDATE>)
  target_link_options(plumbline_options INTERFACE --coverage)
endif()

# Precompiles the headers that nearly every source includes, which saves a third of the CPU time of
# a build (g++ 12). The preset asan compiles without them, so that a source with a missing include
# fails there.
option(PLUMBLINE_PRECOMPILED_HEADERS "Parse the standard headers once" ON)
set(PLUMBLINE_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map>
  <memory> <optional> <set> <span> <string> <string_view> <utility> <vector>)

# plumbline_precompile(NAME FROM HEADERS …): the target NAME uses the precompiled headers of FROM.
# If NAME is FROM, it precompiles PLUMBLINE_COMMON_HEADERS and HEADERS. Both targets need the same
# compile options.
function(plumbline_precompile NAME FROM)
  if(NOT PLUMBLINE_PRECOMPILED_HEADERS)
    return()
  endif()
  if(NAME STREQUAL FROM)
    target_precompile_headers(${NAME} PRIVATE ${PLUMBLINE_COMMON_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${NAME} REUSE_FROM ${FROM})
  endif()
  # ccache follows GCC's precompiled headers only with -fpch-preprocess. With it, GCC 12 forgets
  # that the library's headers are system headers and falsely warns of overruns in std::string. By
  # default GCC collects garbage from 128 MiB on, which precompiled headers nearly fill. Collecting
  # takes a tenth of the compile time of a source with JSON.
  target_compile_options(${NAME} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:
    -fpch-preprocess -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
    --param=ggc-min-heapsize=524288>)
endfunction()

# The precompiled headers of the libraries of harness/, compiled without definitions that only some
# libraries have (Debug defines TBB_USE_DEBUG if a target links oneTBB). g++ accepts them in a
# source with more definitions, but not in one with fewer.
set(text_options $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/no_code.cc CONTENT "")
foreach(name plumbline_headers plumbline_text_headers)
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/generated/no_code.cc)
  target_link_libraries(${name} PRIVATE plumbline_options tl::expected fmt::fmt)
  plumbline_precompile(${name} ${name} <fmt/format.h> <tl/expected.hpp>)
endforeach()
target_compile_options(plumbline_text_headers PRIVATE ${text_options})

# plumbline_library(NAME [TEXT] LIBRARIES other … SOURCES a.cc … EXCEPT b.cc … OPTIONS option …): a
# static library of harness/ with SOURCES, by default every .cc file of the folder except EXCEPT. A
# library with OPTIONS has its own precompiled headers. TEXT: code whose loops over
# tensors are in other libraries, such as readers of files and writers of reports. It is compiled
# with -O1, because -O2 costs a sixth of a build's CPU time without benefit.
function(plumbline_library NAME)
  cmake_parse_arguments(ARG "TEXT" "" "SOURCES;EXCEPT;LIBRARIES;OPTIONS" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cc)
    list(REMOVE_ITEM ARG_SOURCES ${ARG_EXCEPT})
  endif()
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC plumbline_options tl::expected ${ARG_LIBRARIES})
  target_compile_options(${NAME} PRIVATE ${ARG_OPTIONS})
  set(headers_of plumbline_headers)
  if(ARG_OPTIONS)
    set(headers_of ${NAME})
  elseif(ARG_TEXT)
    set(headers_of plumbline_text_headers)
    target_compile_options(${NAME} PRIVATE ${text_options})
  endif()
  plumbline_precompile(${NAME} ${headers_of} <fmt/format.h> <tl/expected.hpp>)
endfunction()

# plumbline_build_id(RESULT item …): returns 16 hex digits of a hash of the contents of files and of
# items that are not files. A provider uses them as its build id, which distinguishes "same build,
# other bits" from "new build". CMake runs again if one of the files changes.
function(plumbline_build_id RESULT)
  set(all_hashes "")
  foreach(item ${ARGN})
    if(EXISTS ${item})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${item})
      file(SHA256 ${item} item)
    endif()
    string(APPEND all_hashes ${item})
  endforeach()
  string(SHA256 build_id "${all_hashes}")
  string(SUBSTRING ${build_id} 0 16 build_id)
  set(${RESULT} ${build_id} PARENT_SCOPE)
endfunction()

# Timeouts of CTest for a test, and for the audit, in seconds. The timeout of a test is more than
# twice the time of the slowest one in ci/seconds.csv. Sanitizers and gcov's counters slow down
# tests and audit.
set(PLUMBLINE_TEST_TIMEOUT 300)
set(PLUMBLINE_AUDIT_TIMEOUT 1800)
if(PLUMBLINE_SANITIZE OR PLUMBLINE_COVERAGE)
  set(PLUMBLINE_TEST_TIMEOUT 3000)
  set(PLUMBLINE_AUDIT_TIMEOUT 7200)
endif()

# Compile options of test sources in addition to plumbline_options. Test sources take half the time
# of a build. The few tests that compute much do without them (OPTIMIZED below).
set(PLUMBLINE_TEST_OPTIONS "" CACHE STRING "Compile options of test programs, such as -O0")

# plumbline_discover_tests(NAME LABELS unit … PROPERTIES RUN_SERIAL TRUE … TIMES Suite.Test … WEEKLY
# Suite.Test … STARTS_PROGRAMS Suite.Test …): adds the tests of a GoogleTest program, labelled with
# LABELS and the name of their folder in tests/. The presets leave out the tests of TIMES, which
# pass only on a quiet machine, and those of WEEKLY, which are too slow for CI (ci/weekly.sh runs
# both). STARTS_PROGRAMS names tests that start programs and so are not quick, if
# plumbline_starts_programs() cannot detect it.
function(plumbline_discover_tests NAME)
  cmake_parse_arguments(ARG "OPTIMIZED" "" "LABELS;PROPERTIES;TIMES;WEEKLY;STARTS_PROGRAMS" ${ARGN})
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${NAME} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PLUMBLINE_TEST_OPTIONS}>)
  endif()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" folder ${folder})
  if(PLUMBLINE_SECONDS_LAUNCHER)
    set_target_properties(${NAME} PROPERTIES
      CROSSCOMPILING_EMULATOR "${PLUMBLINE_SECONDS_LAUNCHER};gtest;--")
  endif()
  if(PLUMBLINE_COVERAGE)
    # On one processor, threads do not race for gcov's counters.
    list(APPEND ARG_PROPERTIES PROCESSOR_AFFINITY ON)
  endif()
  gtest_discover_tests(${NAME} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES
    TIMEOUT ${PLUMBLINE_TEST_TIMEOUT} ${ARG_PROPERTIES})
  set_property(GLOBAL APPEND PROPERTY PLUMBLINE_TEST_PROGRAMS ${NAME})
  set_target_properties(${NAME} PROPERTIES PLUMBLINE_FOLDER ${folder}
    PLUMBLINE_LABELS "${ARG_LABELS}" PLUMBLINE_TIMES "${ARG_TIMES}"
    PLUMBLINE_WEEKLY "${ARG_WEEKLY}" PLUMBLINE_STARTS_PROGRAMS "${ARG_STARTS_PROGRAMS}"
    PLUMBLINE_LABEL_FILE ${CMAKE_CURRENT_BINARY_DIR}/${NAME}_labels.cmake)
  # CTest reads this file after the names of the tests.
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
    ${CMAKE_CURRENT_BINARY_DIR}/${NAME}_labels.cmake)
endfunction()

# plumbline_starts_programs(NAME RESULT): returns YES if a definition of the target NAME names a
# program or a folder of the build, or if the target links code that starts the PTX compiler.
function(plumbline_starts_programs NAME RESULT)
  set(${RESULT} NO PARENT_SCOPE)
  get_target_property(libraries ${NAME} LINK_LIBRARIES)
  if(libraries MATCHES "plumbline_(ptx|cudart)")
    set(${RESULT} YES PARENT_SCOPE)
  endif()
  get_target_property(definitions ${NAME} COMPILE_DEFINITIONS)
  foreach(definition IN LISTS definitions)
    if(definition MATCHES "<TARGET_FILE:([^>]+)>")
      get_target_property(type ${CMAKE_MATCH_1} TYPE)
      if(type STREQUAL "EXECUTABLE")
        set(${RESULT} YES PARENT_SCOPE)
      endif()
    elseif(definition MATCHES "=\"${PROJECT_BINARY_DIR}")
      set(${RESULT} YES PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# plumbline_label_tests(): writes the labels of all discovered tests, and test_programs.csv for
# ci/choose_tests.py. A test has the label `quick` if it has the label `unit`, starts no program and
# takes less than a second; ci/seconds.csv lists the slower ones.
function(plumbline_label_tests)
  set(seconds ${PROJECT_SOURCE_DIR}/ci/seconds.csv)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${seconds})
  file(STRINGS ${seconds} slow_tests REGEX "^test,")
  list(TRANSFORM slow_tests REPLACE "^test,([^,]+),.*" "\\1")
  list(JOIN slow_tests "\n  " slow_tests)
  set(slow_tests_file ${PROJECT_BINARY_DIR}/slow_tests.cmake)
  file(CONFIGURE OUTPUT ${slow_tests_file} @ONLY CONTENT "set(slow_tests\n  ${slow_tests})\n")
  get_property(programs GLOBAL PROPERTY PLUMBLINE_TEST_PROGRAMS)
  list(SORT programs)
  set(table "program,folder,quick,labels\n")
  foreach(program IN LISTS programs)
    foreach(property FOLDER LABELS TIMES WEEKLY STARTS_PROGRAMS LABEL_FILE)
      get_target_property(${property} ${program} PLUMBLINE_${property})
    endforeach()
    set(quick NO)
    if("unit" IN_LIST LABELS AND NOT "slow" IN_LIST LABELS)
      plumbline_starts_programs(${program} starts_programs)
      if(NOT starts_programs)
        set(quick YES)
      endif()
    endif()
    # The folder gpu needs another label: `gpu` means that a test needs a GPU.
    string(REGEX REPLACE "^gpu$" "gpu_folder" folder_label ${FOLDER})
    list(APPEND LABELS ${folder_label})
    list(JOIN LABELS " " words)
    string(APPEND table "${program},${FOLDER},${quick},${words}\n")
    configure_file(${PROJECT_SOURCE_DIR}/ci/cmake/test_labels.cmake.in ${LABEL_FILE} @ONLY)
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_programs.csv @ONLY CONTENT "${table}")
endfunction()

# plumbline_test(NAME [OPTIMIZED] SOURCES a.cc … LIBRARIES lib … LABELS unit PROPERTIES TIMEOUT 9
# TIMES Suite.Test … WEEKLY … STARTS_PROGRAMS … ALONE b.cc …): adds a GoogleTest program, whose
# tests are discovered at build time. OPTIMIZED: without PLUMBLINE_TEST_OPTIONS, because the test
# itself computes much. A unity build compiles the sources of ALONE separately, because their
# helpers have the same names as those of other sources.
function(plumbline_test NAME)
  cmake_parse_arguments(ARG "OPTIMIZED" ""
    "SOURCES;LIBRARIES;LABELS;PROPERTIES;TIMES;WEEKLY;STARTS_PROGRAMS;ALONE" ${ARGN})
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE plumbline_options ${ARG_LIBRARIES} GTest::gmock
    GTest::gtest_main)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  set(headers plumbline_test_headers)
  set(optimized "")
  if(ARG_OPTIMIZED AND PLUMBLINE_TEST_OPTIONS)
    set(headers plumbline_optimized_test_headers)
    set(optimized OPTIMIZED)
  endif()
  if(NOT TARGET ${headers})  # a program, because programs are compiled with -fPIE
    set(source ${PROJECT_BINARY_DIR}/generated/test_headers.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
    add_executable(${headers} ${source})
    target_link_libraries(${headers} PRIVATE plumbline_options GTest::gmock)
    if(NOT optimized)
      target_compile_options(${headers} PRIVATE ${PLUMBLINE_TEST_OPTIONS})
    endif()
    plumbline_precompile(${headers} ${headers} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  plumbline_precompile(${NAME} ${headers})
  if("gpu" IN_LIST ARG_LABELS)
    file(RELATIVE_PATH program ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/${NAME})
    set_property(GLOBAL APPEND PROPERTY PLUMBLINE_GPU_TESTS ${program})
  endif()
  plumbline_discover_tests(${NAME} ${optimized} LABELS ${ARG_LABELS}
    PROPERTIES ${ARG_PROPERTIES} TIMES ${ARG_TIMES} WEEKLY ${ARG_WEEKLY}
    STARTS_PROGRAMS ${ARG_STARTS_PROGRAMS})
endfunction()

# Writes generated/HEADER: PLUMBLINE_LEGAL(X) expands to X(name) for each table [[legal]] of the
# catalogue TOML, in its order; PLUMBLINE_MUTANT(X) and PLUMBLINE_BREAKER(X) likewise.
function(plumbline_mutant_names toml header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${toml})
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${toml} lines REGEX "^(\\[\\[[a-z]+\\]\\]|name = )")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\\[\\[([a-z]+)")
      string(TOUPPER ${CMAKE_MATCH_1} table)
    elseif(line MATCHES "\"(.*)\"" AND table)
      string(APPEND names_of_${table} " \\\n  X(${CMAKE_MATCH_1})")
    endif()
  endforeach()
  set(text "// Written by CMake from ${toml}.\n#pragma once\n")
  foreach(table LEGAL MUTANT BREAKER)
    string(APPEND text "#define PLUMBLINE_${table}(X)${names_of_${table}}\n")
  endforeach()
  file(CONFIGURE OUTPUT generated/${header} CONTENT "${text}" @ONLY)
endfunction()
