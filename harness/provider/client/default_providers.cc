// Detects a GPU by /dev and nvidia-smi, and selects the default providers of a run.
#include "harness/provider/client/default_providers.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

bool is_gpu_node(const fs::path& node) {
  constexpr std::string_view prefix = "nvidia";
  const std::string name = node.filename().string();
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::all_of(name.begin() + prefix.size(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Detects GPUs with other names than /dev/nvidia0. Uses no shell, because small systems lack one.
bool nvidia_smi_lists_a_gpu() {
  std::array<int, 2> pipes{};
  if (::pipe2(pipes.data(), O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
  std::string program = "nvidia-smi", option = "-L";
  std::array<char*, 3> arguments{program.data(), option.data(), nullptr};
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipes[1]);
  std::string listed;
  std::array<char, 256> chunk{};
  for (ssize_t n = 0; error == 0 && (n = ::read(pipes[0], chunk.data(), chunk.size())) > 0;)
    listed.append(chunk.data(), n);
  ::close(pipes[0]);
  if (error == 0) ::waitpid(pid, nullptr, 0);
  return listed.starts_with("GPU");
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool has_cuda_device(const fs::path& devices) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && (*visible == '\0' || *visible == '-')) return false;
  if (is_there(devices / "dxg")) return true;
  std::error_code ignored;
  const fs::directory_iterator nodes(devices, ignored);
  if (is_there(devices / "nvidiactl") &&
      std::any_of(begin(nodes), end(nodes),
                  [](const fs::directory_entry& node) { return is_gpu_node(node.path()); })) {
    return true;
  }
  return nvidia_smi_lists_a_gpu();
}

std::vector<std::string> default_providers(const fs::path& folder, const fs::path& devices) {
  std::vector<std::string> libraries{(folder / "plumbline_cpu.so").string()};
  const fs::path emulated = folder / "plumbline_emulated.so", cuda = folder / "plumbline_cuda.so";
  if (is_there(emulated)) libraries.push_back(emulated.string());
  if (is_there(cuda) && has_cuda_device(devices)) libraries.push_back(cuda.string());
  return libraries;
}

}  // namespace plumbline
