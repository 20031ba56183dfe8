// What a kernel says about itself: checked before anybody believes it. Shared by plumbline and its worker.
#pragma once

#include <string>

#include "harness/provider/plumbline_provider.h"
#include "harness/provider/worker.h"

namespace plumbline {

// "" or the first field without a meaning: "description: p_dtype has no meaning 77". Text fields must be NUL-terminated.
std::string description_fault(const plumbline_description& description);

// Of a description without fault.
Description to_description(const plumbline_description& description);

}  // namespace plumbline
