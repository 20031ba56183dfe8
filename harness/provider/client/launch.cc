// Finds the provider's file, the worker program and Python, and builds the command line.
#include "harness/provider/client/launch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "harness/base/text.h"
#include "harness/provider/client/bundled_providers.h"
#include "harness/provider/client/default_providers.h"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::optional<fs::path> first_existing(const std::vector<fs::path>& places) {
  const auto found = std::ranges::find_if(places, is_there);
  if (found == places.end()) return std::nullopt;
  return *found;
}

Result<fs::path> find_library_worker(const fs::path& wanted) {
  if (!wanted.empty()) {
    if (is_there(wanted)) return fs::absolute(wanted);
    return fail(fmt::format("{}: no such worker program", wanted.string()));
  }
  const fs::path folder = program_folder();
  std::vector<fs::path> places{folder / "plumbline-worker",
                               folder.parent_path() / "libexec" / "plumbline" / "plumbline-worker"};
  if (const std::string named = environment_text("PLUMBLINE_WORKER"); !named.empty())
    places.emplace_back(named);
  if (const auto found = first_existing(places)) return *found;
  return fail(
      fmt::format(
          "plumbline-worker is neither beside this program ({}) nor in ../libexec/plumbline",
          folder.string()),
      "set PLUMBLINE_WORKER to its path");
}

// Finds a program as a shell does. Links are not resolved, because the path of python identifies
// its virtual environment.
std::optional<fs::path> on_path(const std::string& program) {
  const auto runs = [](const fs::path& path) {
    return access(path.c_str(), X_OK) == 0 && !fs::is_directory(path);
  };
  if (program.find('/') != std::string::npos)
    return runs(program) ? std::optional(fs::absolute(program)) : std::nullopt;
  const std::string path = environment_text("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (const fs::path candidate = fs::path(path.substr(begin, end - begin)) / program;
        runs(candidate))
      return fs::absolute(candidate);
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace

bool is_in_checkout() {
  return !is_there(program_folder().parent_path() / "share" / "plumbline" / "baselines") &&
         is_there(fs::path(PLUMBLINE_SOURCE_DIRECTORY) / "ci" / "setup.sh");
}

Result<fs::path> find_python() {
  if (const std::string named = environment_text("PLUMBLINE_PYTHON"); !named.empty()) {
    if (const auto python = on_path(named)) return *python;
    return fail(fmt::format("PLUMBLINE_PYTHON is {}: no such program", named),
                "set it to the path of a Python interpreter with numpy");
  }
  std::vector<fs::path> homes{program_folder().parent_path() / "share" / "plumbline",
                              PLUMBLINE_SOURCE_DIRECTORY};
  if (const std::string home = environment_text("PLUMBLINE_HOME"); !home.empty())
    homes.insert(homes.begin(), home);
  for (const fs::path& home : homes) {
    if (const auto python = on_path((home / ".venv" / "bin" / "python").string())) return *python;
  }
  if (const auto python = on_path("python3")) return *python;
  return fail(
      fmt::format("no Python interpreter: neither .venv/bin/python in {} nor python3 on the PATH",
                  homes.front().string()),
      fmt::format("install Python 3.9 or later with numpy and ml_dtypes{}, or set PLUMBLINE_PYTHON "
                  "to an interpreter with them",
                  is_in_checkout() ? " (ci/setup.sh --numpy)" : ""));
}

Result<fs::path> find_python_worker() {
  if (const std::string named = environment_text("PLUMBLINE_PYTHON_WORKER"); !named.empty()) {
    if (is_there(named)) return fs::absolute(named);
    return fail(fmt::format("PLUMBLINE_PYTHON_WORKER is {}: no such file", named),
                "set it to the path of plumbline_worker.py");
  }
  const fs::path beside =
      program_folder().parent_path() / "lib" / "plumbline" / "python" / "plumbline_worker.py";
  if (const auto found = first_existing({beside, fs::path(PLUMBLINE_BINARY_DIRECTORY) /
                                                     "lib/plumbline/python/plumbline_worker.py"})) {
    return *found;
  }
  return fail(fmt::format("{}: the worker for Python providers is not there", beside.string()),
              is_in_checkout()
                  ? "run ci/quickstart.sh, which builds it with plumbline (target programs)"
                  : "install plumbline again, all of it");
}

namespace {

Result<Launch> launch_python(const fs::path& file, const std::string& provider_options) {
  auto worker = find_python_worker();
  if (!worker) return tl::unexpected(worker.error());
  auto python = find_python();
  if (!python) return tl::unexpected(python.error());
  return Launch{{python->string(), worker->string()}, file.string(), provider_options};
}

// Returns the file of that name, otherwise the bundled provider.
Result<fs::path> find_provider(const std::string& word) {
  std::error_code ignored;
  if (fs::is_regular_file(word, ignored)) return fs::absolute(word);
  if (const auto bundled = find_bundled_provider(word, provider_folder())) return *bundled;
  if (word.ends_with(".py") && word.find('/') == std::string::npos) {
    const auto worker = find_python_worker();
    if (worker && is_there(worker->parent_path() / word)) return worker->parent_path() / word;
  }
  const bool is_folder = fs::is_directory(word, ignored);
  return fail(fmt::format("{}: {}", word,
                          is_folder ? "is a folder and no provider file" : "no such provider file"),
              missing_provider_remedy(word, provider_folder()));
}

}  // namespace

std::pair<std::string, std::string> split_provider(const std::string& provider) {
  std::size_t colon = std::string::npos;
  for (const std::string_view suffix : {".so:", ".py:"})
    colon = std::min(colon, provider.find(suffix));
  if (colon != std::string::npos) {
    colon += 3;
  } else if (!provider.ends_with(".so") && !provider.ends_with(".py")) {
    colon = provider.find(':');
  }
  if (colon == std::string::npos) return {provider, ""};
  return {provider.substr(0, colon), provider.substr(colon + 1)};
}

Result<Launch> find_launch(const WorkerOptions& options) {
  auto [path, provider_options] = split_provider(options.provider);
  if (options.executable.empty()) {
    const auto found = find_provider(path);
    if (!found) return tl::unexpected(found.error());
    if (found->extension() == ".py") return launch_python(*found, provider_options);
    path = found->string();
  }
  auto worker = find_library_worker(options.executable);
  if (!worker) return tl::unexpected(worker.error());
  // dlopen would search the system's library folders for a path without '/'.
  if (is_there(path)) path = fs::absolute(path).string();
  return Launch{{worker->string()}, path, provider_options};
}

}  // namespace plumbline
