// Devices and tensors of a run request as the C ABI has them.
#pragma once

#include <string_view>

#include "harness/provider/messages.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {

plumbline_device to_device(const protocol::Device& device);
// Throws Stop where its rank is none.
plumbline_tensor to_tensor(const protocol::Tensor& tensor, void* data);
// The field of that name; nullptr: none, as of outputs that `plumbline_tensors.outputs` alone has.
plumbline_tensor* find_field(plumbline_tensors& tensors, std::string_view name);

// An index array and its copy where the kernel's memory is.
struct IndexArray {
  std::string_view name;
  plumbline_tensor plumbline_tensors::*copy;
};
const IndexArray* find_index_array(std::string_view name);  // nullptr: it is no index array

}  // namespace plumbline
