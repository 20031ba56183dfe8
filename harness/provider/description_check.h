// Validates the descriptions and names that a provider gives. Shared by plumbline and its worker.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/description.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {

// Returns "" or the first invalid field: "description: p_dtype has no meaning 77". Text fields must
// be NUL-terminated.
std::string description_fault(const plumbline_description& description);

// Returns "" or the reason why a name cannot be part of a case id.
//  - Names have 1 to 128 bytes of UTF-8 without control bytes or '/', and do not begin with
//    "device=". Kernel names are unique.
//  - `tensor_cores` has "on", "off" or "none" for each kernel, `questions` "attention" or "merge".
std::string names_fault(std::string_view provider, const std::vector<std::string>& kernels,
                        const std::vector<std::string>& tensor_cores,
                        const std::vector<std::string>& questions);

// Returns "" or a fault. `outputs` has an entry for each kernel: its row outputs beyond the LSE.
std::string outputs_fault(const std::vector<std::string>& kernels,
                          const std::vector<std::vector<std::string>>& outputs);

// Requires description_fault(description) to be "".
Description to_description(const plumbline_description& description);

}  // namespace plumbline
