// Instantiates the plain kernel for each combination of dtypes that is compiled.
#include "kernels/attention/instances.h"
#include "kernels/attention/naive.cuh"

namespace plumbline::attention {
namespace {

template <class Types>
Instance naive() {
  constexpr int shared_bytes = naive_threads * static_cast<int>(sizeof(float));
  return {"naive",
          dtype_of<typename NaiveTypes<Types>::Element>,
          sizeof(typename NaiveTypes<Types>::KvElement) == 1,
          PLUMBLINE_F32,
          0,
          1,
          naive_threads,
          0,
          naive_threads,
          shared_bytes,
          false,
          naive_attention<Types>,
          "naive_attention",
          typeid(Types).name()};
}

}  // namespace

std::span<const Instance> naive_instances() {
  static const Instance all[] = {naive<Float>(), naive<Half>(), naive<BFloat16>(),
                                 naive<WithFp8<NaiveTypes<Half>>>(),
                                 naive<WithFp8<NaiveTypes<BFloat16>>>()};
  return all;
}

}  // namespace plumbline::attention
