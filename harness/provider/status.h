// The status of a request to a kernel.
#pragma once

#include "harness/base/enumeration.h"

namespace plumbline {

enum class Status { ok, unsupported, crashed, timeout, out_of_memory, error };

}  // namespace plumbline
