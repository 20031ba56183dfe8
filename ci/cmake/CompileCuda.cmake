# Runs an nvcc command. Its stderr, which has ptxas's figures, becomes the report. If nvcc fails,
# prints its stderr and fails.
#   cmake -D SOURCE=… -D TOOLKIT=13.0.88 -D REPORT=file -P CompileCuda.cmake --
#     nvcc --resource-usage …
set(command "")
set(after_dashes FALSE)
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(after_dashes AND i LESS CMAKE_ARGC)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(after_dashes TRUE)
  endif()
endforeach()
execute_process(COMMAND ${command} ERROR_VARIABLE said RESULT_VARIABLE failed)
if(failed)
  message("${said}")
  message(FATAL_ERROR "${SOURCE}: nvcc failed (${failed})")
endif()
string(REGEX MATCHALL "[^\n]*warning[^\n]*" warnings "${said}")
foreach(warning ${warnings})
  message("${warning}")
endforeach()
file(WRITE ${REPORT} "# source: ${SOURCE}\n# toolkit: nvcc ${TOOLKIT}\n${said}")
