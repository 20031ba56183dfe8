// What a kernel says about itself, checked before anybody believes it. Shared by plumbline and its
// worker.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/description.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {

// "" or the first field without a meaning: "description: p_dtype has no meaning 77". Text fields
// must be NUL-terminated.
std::string description_fault(const plumbline_description& description);

// "" or why names cannot be parts of a case id that everybody can store, print and read back: they
// are not empty, have at most 128 bytes, are UTF-8 without control bytes and '/', are no
// "device=…", and no two kernels have the same; one of "on", "off", "none" a kernel, and one of
// "attention", "merge".
std::string names_fault(std::string_view provider, const std::vector<std::string>& kernels,
                        const std::vector<std::string>& tensor_cores,
                        const std::vector<std::string>& questions);

// "" or a fault: `outputs` has an entry per kernel, of row outputs beyond the LSE.
std::string outputs_fault(const std::vector<std::string>& kernels,
                          const std::vector<std::vector<std::string>>& outputs);

// Of a description without fault.
Description to_description(const plumbline_description& description);

}  // namespace plumbline
