// Converts devices and tensors of a run request into structs of the C ABI.
#pragma once

#include <string_view>

#include "harness/provider/messages.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {

plumbline_device to_device(const protocol::Device& device);
// Throws Stop if the rank is invalid.
plumbline_tensor to_tensor(const protocol::Tensor& tensor, void* data);
// Returns the field of that name; nullptr if only `plumbline_tensors.outputs` has the tensor.
plumbline_tensor* find_field(plumbline_tensors& tensors, std::string_view name);

// An index array and the field of its copy in the kernel's memory space.
struct IndexArray {
  std::string_view name;
  plumbline_tensor plumbline_tensors::*copy;
};
const IndexArray* find_index_array(std::string_view name);  // nullptr: not an index array

}  // namespace plumbline
