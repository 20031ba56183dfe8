// The providers that come with plumbline, and which of them this machine can use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

// A CUDA device is there, as far as can be told without a toolkit: the driver's /dev/nvidiactl and
// a /dev/nvidia0 (or 1, 2, …), or /dev/dxg, or else a line of `nvidia-smi -L`; not hidden by an
// empty or negative CUDA_VISIBLE_DEVICES. ci/gpu.sh accepts the same. Whether the driver works is
// found out by the first case that runs.
bool has_cuda_device(const std::filesystem::path& devices = "/dev");

// In `folder` (lib/plumbline): plumbline_cpu.so always, plumbline_emulated.so where the file
// exists, plumbline_cuda.so where the file exists and a CUDA device is there.
std::vector<std::string> default_providers(const std::filesystem::path& folder,
                                           const std::filesystem::path& devices = "/dev");

// Returns whether the path can be reached; a refusal counts as absent.
bool is_there(const std::filesystem::path& path);

}  // namespace plumbline
