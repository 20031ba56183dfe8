#include "kernels/attention/instances.h"
#include "kernels/attention/naive.cuh"

namespace plumbline::attention {
namespace {

template <class Element>
constexpr Instance naive = {
    "naive", dtype_of<Element>,       PLUMBLINE_F32, 0, 1, naive_threads, 1, naive_threads, naive_threads* static_cast<int>(sizeof(float)),
    false,   naive_attention<Element>};

}  // namespace

std::span<const Instance> naive_instances() {
  static const Instance all[] = {naive<float>, naive<Half>, naive<BFloat16>};
  return all;
}

}  // namespace plumbline::attention
