// Runs the compiler and caches the libraries.
#include "emulator/ptx/compile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "emulator/ptx/prelude.h"

extern char** environ;

namespace plumbline::ptx {
namespace {

namespace fs = std::filesystem;

// -O1: the emulator takes most of a launch's time. -O2 compiles twice as long and saves only 3 %.
// -fsignaling-nans: keeps x times 1 as a product, because the product flushes a denormal x.
constexpr std::array flags{"-std=c++20",
                           "-O1",
                           "-march=x86-64-v3",
                           "-ffp-contract=off",
                           "-fno-strict-aliasing",
                           "-fno-math-errno",
                           "-fsignaling-nans",
                           "-fPIC",
                           "-shared",
                           "-w"};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Returns the exit status, or -1 if the program could not be started. Its output goes to `log`.
int run_program(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string first_lines(const std::string& text, int count) {
  std::size_t end = 0;
  while (count-- > 0 && end != std::string::npos) end = text.find('\n', end == 0 ? 0 : end + 1);
  return text.substr(0, end);
}

// Returns the compiler's version text, or "" if it cannot be started.
std::string version_of(const std::string& compiler, const fs::path& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(compiler); found != known.end()) return found->second;
  const fs::path log = folder / fmt::format("version.{}", getpid());
  const int status = run_program({compiler, "--version"}, log);
  const std::string text = status == 0 ? text_of(log) : std::string();
  std::error_code ignored;
  fs::remove(log, ignored);
  if (!text.empty()) known[compiler] = text;
  return text;
}

std::string key_of(const std::string& source, const std::string& version) {
  std::string all = source + version;
  for (const char* flag : flags) all += flag;
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

tl::expected<std::string, std::string> compiler_of(const CompileOptions& options,
                                                   const fs::path& folder, std::string& version) {
  std::string compiler = options.compiler;
  if (compiler.empty()) compiler = environment("PLUMBLINE_PTX_CXX");
  if (compiler.empty()) compiler = "c++";
  version = version_of(compiler, folder);
  if (!version.empty()) return compiler;
  return tl::unexpected(fmt::format(
      "{}: no C++ compiler; this machine needs one for the first run of each compiled kernel\n"
      "  remedy: install g++ or clang, or name one in PLUMBLINE_PTX_CXX",
      compiler));
}

// Compiles `source` to `library` under a temporary name and renames it, so that no other process or
// thread sees an unfinished file.
tl::expected<void, std::string> make_library(const std::string& source, const std::string& compiler,
                                             const fs::path& library) {
  fs::path stem = library;
  stem.replace_extension();
  static std::atomic<unsigned> made_here = 0;
  const std::string mine = fmt::format("{}.{}.{}", stem.string(), getpid(), made_here++);
  const fs::path text = mine + ".cc", made = mine + ".so", log = mine + ".log";
  std::ofstream(text) << source;
  std::vector<std::string> command{compiler};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-o", made.string(), text.string()});
  const int status = run_program(command, log);
  std::error_code error;
  if (status != 0) {
    const std::string said = first_lines(text_of(log), 10);
    fs::remove(made, error);
    return tl::unexpected(fmt::format("{} did not compile {} (status {}):\n{}\n  all output: {}",
                                      compiler, text.string(), status, said, log.string()));
  }
  fs::rename(text, stem.string() + ".cc", error);
  fs::remove(log, error);
  fs::rename(made, library, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", library.string(), error.message()));
  return {};
}

// Returns the library of a source and compiles it if needed.
tl::expected<fs::path, std::string> library_of(const std::string& source,
                                               const CompileOptions& options) {
  if (!options.prebuilt.empty()) {
    fs::path library = options.prebuilt / (key_of(source, "") + ".so");
    std::error_code ignored;
    if (fs::exists(library, ignored)) return library;
  }
  const auto folder = cache_folder(options);
  if (!folder) return tl::unexpected(folder.error());
  std::string version;
  const auto compiler = compiler_of(options, *folder, version);
  if (!compiler) return tl::unexpected(compiler.error());
  fs::path library = *folder / (key_of(source, version) + ".so");
  if (fs::exists(library)) return library;
  if (const auto made = make_library(source, *compiler, library); !made)
    return tl::unexpected(made.error());
  return library;
}

tl::expected<Translation, std::string> translation_of(const Module& module, std::string_view entry,
                                                      const std::string& name,
                                                      const Options& options) {
  const auto function = std::find_if(module.functions.begin(), module.functions.end(),
                                     [&](const Function& f) { return f.entry && f.name == entry; });
  if (function == module.functions.end() || function->external)
    return tl::unexpected(fmt::format("{}: no entry {}", name, entry));
  auto facts = translate(module, *function, options);
  if (!facts)
    return tl::unexpected(fmt::format("{}:{}: {}", name, facts.error().line, facts.error().text));
  return std::move(*facts);
}

}  // namespace

tl::expected<fs::path, std::string> cache_folder(const CompileOptions& options) {
  fs::path folder = options.cache;
  if (folder.empty()) folder = environment("PLUMBLINE_PTX_CACHE");
  if (folder.empty()) {
    const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
    if (!cache.empty()) {
      folder = fs::path(cache) / "plumbline" / "ptx";
    } else if (!home.empty()) {
      folder = fs::path(home) / ".cache" / "plumbline" / "ptx";
    } else {
      folder = fs::temp_directory_path() / "plumbline-ptx";
    }
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return tl::unexpected(
        fmt::format("{}: {}\n  remedy: set PLUMBLINE_PTX_CACHE to a folder for compiled kernels",
                    folder.string(), error.message()));
  return fs::absolute(folder);
}

// A macro, because kernels use it a thousand times: inlining a function would double g++'s time.
constexpr std::string_view number_of_bits =
    "#define F(...) __builtin_bit_cast(f32, u32(__VA_ARGS__))";

std::string full_source(const Translation& translation, std::string_view name) {
  return fmt::format("{}{}\n{}\nnamespace plumbline::ptx {{\n#line 1 \"{}\"\n{}}}\n",
                     translation.host_flushes ? "#define PLUMBLINE_HOST_FLUSHES\n" : "", prelude(),
                     number_of_bits, name, translation.source);
}

std::string text_name(std::string_view text) {
  return fmt::format("{:016x}.ptx", XXH3_64bits(text.data(), text.size()));
}

tl::expected<void, std::string> compile_ahead(const Module& module, std::string_view entry,
                                              const std::string& name, const Options& options,
                                              const fs::path& into) {
  const auto facts = translation_of(module, entry, name, options);
  if (!facts) return tl::unexpected(facts.error());
  std::error_code error;
  fs::create_directories(into, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", into.string(), error.message()));
  const std::string source = full_source(*facts, name);
  const fs::path library = into / (key_of(source, "") + ".so");
  if (fs::exists(library)) return {};
  std::string version;
  const auto compiler = compiler_of({}, into, version);
  if (!compiler) return tl::unexpected(compiler.error());
  return make_library(source, *compiler, library);
}

tl::expected<Kernel, std::string> compile(const Module& module, std::string_view entry,
                                          const std::string& name, const Options& options,
                                          const CompileOptions& how) {
  auto facts = translation_of(module, entry, name, options);
  if (!facts) return tl::unexpected(facts.error());
  const auto library = library_of(full_source(*facts, name), how);
  if (!library) return tl::unexpected(library.error());
  void* const handle = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return tl::unexpected(fmt::format("{}: {}", library->string(), dlerror()));
  Kernel kernel;
  kernel.library = std::shared_ptr<void>(handle, dlclose);
  kernel.entry = reinterpret_cast<Entry>(dlsym(handle, facts->symbol.c_str()));
  if (kernel.entry == nullptr)
    return tl::unexpected(fmt::format("{}: no {}", library->string(), facts->symbol));
  kernel.name = name;
  kernel.facts = std::move(*facts);
  kernel.source_files = module.files;
  return kernel;
}

}  // namespace plumbline::ptx
