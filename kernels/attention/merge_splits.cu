// Instantiates, for each output dtype, the kernel that merges the partial results of splits.
#include "kernels/attention/instances.h"
#include "kernels/attention/results.cuh"

namespace plumbline::attention {
namespace {

template <class Element>
Instance merge() {
  return {"merge_splits",
          dtype_of<Element>,
          false,
          PLUMBLINE_F32,
          0,
          1,
          0,
          0,
          128,
          0,
          false,
          merge_splits<Element>,
          "merge_splits",
          typeid(Element).name()};
}

}  // namespace

std::span<const Instance> merge_instances() {
  static const Instance all[] = {merge<Float>(), merge<Half>(), merge<BFloat16>()};
  return all;
}

}  // namespace plumbline::attention
