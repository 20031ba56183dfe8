// The exported functions of the provider libraries "cuda" and "emulated".
#include "kernels/attention/provider.h"

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return plumbline::provider::serve<plumbline::attention::Attention>(abi_version, options);
}
