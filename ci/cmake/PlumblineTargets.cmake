# Compile options that every target shares, and the two functions that declare targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Asserts stay on: RelWithDebInfo would define NDEBUG.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1" CACHE STRING "" FORCE)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1" CACHE STRING "" FORCE)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
find_program(CCACHE ccache)
# objects serve every build directory: that of `pip install .` compiles the same files again
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Programs and libraries of the build find shared libraries that a bundle carries beside them
# (ci/gpu.sh --pack). DT_RPATH, not DT_RUNPATH: it also serves what a carried library needs in turn.
# Installed programs have neither.
list(APPEND CMAKE_BUILD_RPATH "$ORIGIN/../lib/shared" "$ORIGIN/../shared"
  "$ORIGIN/../../lib/shared")
add_link_options(LINKER:--disable-new-dtags)

add_library(plumbline_options INTERFACE)
# x86-64-v3 (AVX2, FMA) and no contraction: output bits must not depend on the machine
# (docs/judging.md).
target_compile_options(plumbline_options INTERFACE -march=x86-64-v3 -ffp-contract=off -Wall -Wextra
  -Wpedantic -Wshadow
  $<$<BOOL:${PLUMBLINE_WERROR}>:-Werror>)
target_include_directories(plumbline_options INTERFACE ${PROJECT_SOURCE_DIR})
if(PLUMBLINE_SANITIZE)
  target_compile_options(plumbline_options INTERFACE -fsanitize=${PLUMBLINE_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer
    # g++ 12 with AddressSanitizer finds one in <regex> (GCC bug 105562)
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(plumbline_options INTERFACE -fsanitize=${PLUMBLINE_SANITIZE})
endif()
if(PLUMBLINE_COVERAGE)
  target_compile_options(plumbline_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(plumbline_options INTERFACE --coverage)
endif()

# plumbline_library(NAME SOURCES a.cc … LIBRARIES other …): a static library of harness/.
function(plumbline_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC plumbline_options tl::expected ${ARG_LIBRARIES})
endfunction()

# plumbline_build_id(RESULT item …): 16 hex digits of the contents of files, and of items that are
# none. What a provider calls its build id, so that "same build, other bits" can be told from "new
# build". CMake runs again when one of the files changes.
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

# Seconds after which CTest ends a test: some thirty times what the slowest takes, and sanitizers
# slow it down by as much.
set(PLUMBLINE_TEST_TIMEOUT 300)
if(PLUMBLINE_SANITIZE)
  set(PLUMBLINE_TEST_TIMEOUT 3000)
endif()

# plumbline_test(NAME SOURCES a.cc … LIBRARIES lib … LABELS unit): one GoogleTest program, its tests
# discovered at build time.
function(plumbline_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE plumbline_options ${ARG_LIBRARIES} GTest::gmock
    GTest::gtest_main)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if("gpu" IN_LIST ARG_LABELS)
    file(RELATIVE_PATH program ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/${NAME})
    set_property(GLOBAL APPEND PROPERTY PLUMBLINE_GPU_TESTS ${program})
  endif()
  gtest_discover_tests(${NAME} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT ${PLUMBLINE_TEST_TIMEOUT})
endfunction()
