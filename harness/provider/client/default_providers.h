// The default providers: those that come with plumbline and that this machine can use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

// Returns true if there seems to be a CUDA device: /dev/nvidiactl and /dev/nvidia0 (or 1, 2, …), or
// /dev/dxg, or a line of `nvidia-smi -L`. An empty or negative CUDA_VISIBLE_DEVICES hides it.
// ci/gpu.sh uses the same test. Needs no toolkit; the first case shows if the driver works.
bool has_cuda_device(const std::filesystem::path& devices = "/dev");

// Returns the libraries in `folder` (lib/plumbline): always plumbline_cpu.so, plumbline_emulated.so
// if it exists, and plumbline_cuda.so if it exists and has_cuda_device().
std::vector<std::string> default_providers(const std::filesystem::path& folder,
                                           const std::filesystem::path& devices = "/dev");

// Returns true if the path can be reached; a refused access counts as absent.
bool is_there(const std::filesystem::path& path);

}  // namespace plumbline
