// Tests if a kernel needs each of its barriers and waits.
#pragma once

#include <functional>
#include <string>

#include "tests/compiled/call.h"

namespace plumbline::compiled::test {

using Load = std::function<const Loaded&(const std::string& options)>;

struct Sites {
  int count = 0;
  std::string unseen;  // the lines of PTX whose barriers were not shown to be needed
  std::string error;   // error of the unchanged kernel
};
// Skips each barrier and wait that the kernel reaches, one at a time, in four schedules, until a
// thread fails or the bits change.
Sites skip_each_barrier(const Load&, const std::string& kernel, const std::string& arch,
                        const Ragged&);

}  // namespace plumbline::compiled::test
