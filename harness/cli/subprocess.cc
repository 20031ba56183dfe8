// Runs a command and returns its output.
#include "harness/cli/subprocess.h"

#include <array>
#include <cstdio>

namespace plumbline::cli {

std::optional<ProgramOutput> output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  ProgramOutput said;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    said.text.append(buffer.data(), n);
  said.is_success = ::pclose(pipe) == 0;
  while (said.text.ends_with('\n')) said.text.pop_back();
  return said;
}

}  // namespace plumbline::cli
