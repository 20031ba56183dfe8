# Writes `output`: the headers of translated kernels as one C++ string. A script, run with -Doutput
# and -Dheaders (in the order in which they include each other).
set(text "")
foreach(header ${headers})
  file(READ ${header} part)
  string(REGEX REPLACE "#pragma once\n" "" part "${part}")
  string(REGEX REPLACE "#include \"emulator/[a-z/]+[.]h\"\n" "" part "${part}")
  string(APPEND text "${part}")
endforeach()
file(WRITE ${output} "// Made by emulator/ptx/Prelude.cmake.
#include \"emulator/ptx/prelude.h\"

std::string_view plumbline::ptx::prelude() {
  return R\"plumbline(${text})plumbline\";
}
")
