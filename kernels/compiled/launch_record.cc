// Records kernel launches and forwards them.
#include "kernels/compiled/launch_record.h"

#include "kernels/compiled/cuda.h"

namespace plumbline::compiled {
namespace {

thread_local Launched* noted = nullptr;

}  // namespace

LaunchRecord::LaunchRecord(Launched& first) {
  first = {};
  noted = &first;
}
LaunchRecord::~LaunchRecord() { noted = nullptr; }

}  // namespace plumbline::compiled

// The linker option --wrap=cudaLaunchKernel redirects calls to __wrap_cudaLaunchKernel;
// __real_cudaLaunchKernel is the library's function.
extern "C" {
cudaError_t __real_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes, cudaStream_t stream);
cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes, cudaStream_t stream) {
  if (auto* const first = plumbline::compiled::noted; first != nullptr && first->kernel == nullptr)
    *first = {kernel, shared_bytes};
  return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
}
