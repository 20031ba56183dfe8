// Finds the program's files relative to the program.
#include "harness/cli/program_folders.h"

#include <fmt/format.h>

#include <vector>

#include "harness/base/build_info.h"
#include "harness/base/text.h"
#include "harness/cli/commit.h"
#include "harness/run/version.h"

namespace plumbline::cli {
namespace {

namespace fs = std::filesystem;

fs::path prefix() { return fs::canonical("/proc/self/exe").parent_path().parent_path(); }

// Returns the first of these folders of an installation or build tree that has `file`.
Result<std::string> folder_with(
    const char* file, const std::vector<const char*>& folders,
    const char* remedy =
        "install it: cmake --install BUILD --prefix DIR --component provider_abi") {
  for (const char* folder : folders) {
    std::error_code ignored;
    if (fs::exists(prefix() / folder / file, ignored)) return (prefix() / folder).string();
  }
  return fail(fmt::format("{} is not in {}", file, (prefix() / folders.front()).string()), remedy);
}

}  // namespace

fs::path home_directory() {
  if (const std::string home = environment_text("PLUMBLINE_HOME"); !home.empty()) return home;
  const auto installed = prefix() / "share" / "plumbline";
  return fs::exists(installed / "baselines") ? installed : fs::path(build::source_directory);
}

fs::path library_directory() { return prefix() / "lib" / "plumbline"; }

fs::path template_directory() { return prefix() / "share" / "plumbline" / "templates"; }

void add_folder_flags(Command program) {
  program.add_text_flag(
      "--cmake-dir",
      [] {
        return folder_with("plumblineConfig.cmake", {"lib/cmake/plumbline", "cmake"});
      },
      "Print the folder of plumblineConfig.cmake: cmake -Dplumbline_DIR=\"$(plumbline "
      "--cmake-dir)\"");
  program.add_text_flag(
      "--include-dir", [] { return folder_with("plumbline_provider.h", {"include/plumbline"}); },
      "Print the folder of plumbline_provider.h");
  program.add_text_flag(
      "--cudart-dir",
      []() -> Result<std::string> {
        std::string folders;
        for (const char* version : {"12", "13"}) {
          const std::string file = fmt::format("libcudart.so.{}", version),
                            folder = fmt::format("lib/plumbline/emulated/{}", version);
          const auto found =
              folder_with(file.c_str(), {folder.c_str()}, "install all of plumbline");
          if (!found) return tl::unexpected(found.error());
          folders += (folders.empty() ? "" : ":") + *found;
        }
        return folders;
      },
      "Print the folders of libcudart.so.12 and .13 whose device is the emulator: "
      "LD_LIBRARY_PATH=\"$(plumbline --cudart-dir)\" PLUMBLINE_CUDART_ARCH=sm_90 ./program");
}

std::string version_line() {
  const std::string commit = build_commit;
  return version() + (commit.empty() ? "" : fmt::format(" commit {}", commit));
}

}  // namespace plumbline::cli
