// Instantiates the plain kernel for each compiled combination of dtypes.
#include "kernels/attention/instances.h"
#include "kernels/attention/naive.cuh"

namespace plumbline::attention {
namespace {

template <class Types>
Instance naive() {
  constexpr int shared_bytes = naive_threads * static_cast<int>(sizeof(float));
  return {.kernel = "naive",
          .dtype = dtype_of<typename NaiveTypes<Types>::Element>,
          .fp8_kv = sizeof(typename NaiveTypes<Types>::KvElement) == 1,
          .tile_kv = naive_threads,
          .threads = naive_threads,
          .shared_bytes = shared_bytes,
          .function = naive_attention<Types>,
          .symbol = "naive_attention",
          .argument = typeid(Types).name()};
}

}  // namespace

std::span<const Instance> naive_instances() {
  static const Instance all[] = {naive<Float>(), naive<Half>(), naive<BFloat16>(),
                                 naive<WithFp8<NaiveTypes<Half>>>(),
                                 naive<WithFp8<NaiveTypes<BFloat16>>>()};
  return all;
}

}  // namespace plumbline::attention
