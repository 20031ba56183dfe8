// Instantiates, for each output dtype, the kernel that merges the partial results of splits.
#include "kernels/attention/instances.h"
#include "kernels/attention/results.cuh"

namespace plumbline::attention {
namespace {

template <class Element>
Instance merge() {
  return {.kernel = "merge_splits",
          .dtype = dtype_of<Element>,
          .tile_kv = 0,
          .threads = 128,
          .shared_bytes = 0,
          .function = merge_splits<Element>,
          .symbol = "merge_splits",
          .argument = typeid(Element).name()};
}

}  // namespace

std::span<const Instance> merge_instances() {
  static const Instance all[] = {merge<Float>(), merge<Half>(), merge<BFloat16>()};
  return all;
}

}  // namespace plumbline::attention
