// What the libraries of the providers "cuda" and "emulated" export.
#include <new>

#include "kernels/attention/provider.h"

extern "C" PLUMBLINE_EXPORT const plumbline_provider* plumbline_get_provider(
    std::uint32_t abi_version, const char* options) {
  if (abi_version != PLUMBLINE_ABI_VERSION) return nullptr;
  try {
    return &plumbline::attention::provider_with(options == nullptr ? "" : options);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
