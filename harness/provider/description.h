// A kernel's description of its launch.
#pragma once

#include <cstdint>
#include <string>

#include "harness/problem/rounding_spec.h"
#include "harness/provider/promises.h"

namespace plumbline {

struct Description {
  std::string launched;
  std::string build_id;
  std::string tensor_cores = "none";  // on, off, none
  PaddingPolicy padding_policy = PaddingPolicy::zeros;
  RoundingSpec spec;
  Promises promises;
  int registers_per_thread = -1;
  int spill_bytes_per_thread = -1;
  std::int64_t shared_memory_bytes = -1;
  std::int64_t stack_bytes_per_thread = -1;
  std::string device_arch;  // the architecture that ran, "sm_90", if the device's name does not
                            // give it
};

}  // namespace plumbline
