# Measures the processor seconds of each build step and test if PLUMBLINE_SECONDS is on (preset ci):
# a small program in front of each appends a line to seconds.log of the build directory.
# ci/seconds.py compares them with ci/seconds.csv.
option(PLUMBLINE_SECONDS "Write the processor seconds of build steps and tests to seconds.log" OFF)
set(PLUMBLINE_SECONDS_LAUNCHER "")
if(NOT PLUMBLINE_SECONDS)
  return()
endif()

# Compiled while CMake configures, because the first build step needs it.
set(launcher ${PROJECT_BINARY_DIR}/CMakeFiles/measure_seconds)
set(source ${PROJECT_SOURCE_DIR}/ci/cmake/measure_seconds.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
if(NOT EXISTS ${launcher} OR ${source} IS_NEWER_THAN ${launcher})
  execute_process(COMMAND ${CMAKE_C_COMPILER} -O2 -Wall -Wextra -o ${launcher} ${source}
    COMMAND_ERROR_IS_FATAL ANY)
endif()
set(PLUMBLINE_SECONDS_LAUNCHER ${launcher} ${PROJECT_BINARY_DIR}/seconds.log)

# Names steps by outputs, not by targets, because one target may have many steps.
foreach(rule COMPILE:<OBJECT> LINK:<TARGET> CUSTOM:<OUTPUT>)
  string(REGEX MATCH "(.*):(.*)" rule ${rule})
  set_property(GLOBAL PROPERTY RULE_LAUNCH_${CMAKE_MATCH_1}
    "${launcher} ${PROJECT_BINARY_DIR}/seconds.log build \"${CMAKE_MATCH_2}\" --")
endforeach()

# Overrides add_test to put the launcher in front of each command. plumbline_discover_tests does so
# for GoogleTest programs.
function(add_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;WORKING_DIRECTORY" "COMMAND")
  list(POP_FRONT ARG_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(folder "")
  if(ARG_WORKING_DIRECTORY)
    set(folder WORKING_DIRECTORY ${ARG_WORKING_DIRECTORY})
  endif()
  _add_test(NAME ${ARG_NAME} COMMAND ${PLUMBLINE_SECONDS_LAUNCHER} test ${ARG_NAME} --
    ${program} ${ARG_COMMAND} ${folder})
endfunction()
