// Parses ptxas's lines about each kernel, and shortens demangled names.
#include "harness/resources/ptxas_report.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>

#include "harness/base/text.h"

namespace plumbline {
namespace {

std::string without_all(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
  return text;
}

// Returns the position of a demangled function's parameter list: the last '(' outside of template
// arguments and other parentheses.
std::size_t parameters_at(const std::string& text) {
  std::size_t found = text.size();
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' && depth == 0) found = i;
    if (text[i] == '(' || text[i] == '<') ++depth;
    if (text[i] == ')' || text[i] == '>') --depth;
  }
  return found;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the sum of the numbers before `unit` on this line: 1024 for " bytes smem" in "Used 84
// registers, 1024 bytes smem". Limited to 2^30, which no figure of a kernel reaches.
int amount(std::string_view line, std::string_view unit) {
  constexpr std::int64_t most = 1 << 30;
  std::int64_t sum = 0;
  for (std::size_t end = line.find(unit); end != std::string_view::npos;
       end = line.find(unit, end + 1)) {
    std::size_t begin = end;
    while (begin > 0 && is_digit(line[begin - 1])) --begin;
    if (begin < end)
      sum = std::min(
          sum + std::min(parse_integer(line.substr(begin, end - begin)).value_or(most), most),
          most);
  }
  return static_cast<int>(sum);
}

// Returns the text between the two markers on this line, if both occur.
std::optional<std::string> between(std::string_view line, std::string_view before,
                                   std::string_view behind) {
  std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  begin += before.size();
  const std::size_t end = behind.empty() ? line.size() : line.find(behind, begin);
  if (end == std::string_view::npos || end == begin) return std::nullopt;
  return std::string(line.substr(begin, end - begin));
}

// Returns true for names such as "sm_90a".
bool is_arch(std::string_view text) {
  if (!text.starts_with("sm_") || arch_number(text) == 0) return false;
  text.remove_prefix(3);
  if (!text.empty() && text.back() >= 'a' && text.back() <= 'z') text.remove_suffix(1);
  return !text.empty() && text.size() <= 6 && std::all_of(text.begin(), text.end(), is_digit);
}

class Parser {
 public:
  explicit Parser(std::string file) : file_(std::move(file)) {}

  void line(const std::string& text, int number) {
    number_ = number;
    const auto kernel = between(text, "Compiling entry function '", "' for '"),
               arch = between(text, "' for '", "'");
    const auto function = between(text, "Function properties for ", "");
    if (text.starts_with("# source: ")) {
      report_.source = text.substr(10);
    } else if (text.starts_with("# toolkit: ")) {
      report_.toolkit = text.substr(11);
    } else if (text.ends_with(" bytes gmem") || text.find(" bytes gmem, ") != std::string::npos) {
      // An architecture begins; its name follows.
      finish();
      arch_.clear();
    } else if (kernel && arch && is_arch(*arch)) {
      finish();
      arch_ = *arch;
      begin(*kernel);
    } else if (function && function->find(' ') == std::string::npos) {
      if (current_ && mangled_ == *function) return;  // the kernel that is being compiled
      finish();
      if (arch_.empty()) return complain("names a function before any kernel");
      begin(*function);
      is_device_function_ = true;
    } else if (text.find("bytes stack frame") != std::string::npos) {
      if (!current_) return complain("belongs to no function");
      current_->stack_bytes = std::max(current_->stack_bytes, amount(text, " bytes stack frame"));
      current_->spill_store_bytes = amount(text, " bytes spill stores");
      current_->spill_load_bytes = amount(text, " bytes spill loads");
    } else if (text.find(": Used ") != std::string::npos) {
      if (!current_ || is_device_function_) return complain("belongs to no kernel");
      used(text);
    }
  }

  Result<PtxasReport> result() {
    finish();
    if (report_.source.empty() || report_.toolkit.empty())
      complain_of_file("lacks its header (\"# source: …\", \"# toolkit: …\")");
    if (errors_.empty() && report_.kernels.empty()) complain_of_file("names no kernel");
    if (!errors_.empty()) return tl::unexpected(errors_);
    const auto order = [](const KernelUsage& usage) {
      return std::tuple(usage.kernel, arch_number(usage.arch), usage.arch);
    };
    std::sort(report_.kernels.begin(), report_.kernels.end(),
              [&](const auto& a, const auto& b) { return order(a) < order(b); });
    return report_;
  }

 private:
  void begin(const std::string& mangled) {
    current_.emplace();
    mangled_ = mangled;
    current_->kernel = display_name(mangled);
    current_->arch = arch_;
    is_device_function_ = false;
  }

  void used(const std::string& text) {
    current_->registers = amount(text, " registers");
    current_->barriers = amount(text, " barriers");
    current_->shared_bytes = amount(text, " bytes smem");
    current_->constant_bytes = amount(text, " bytes cmem");
    current_->stack_bytes =
        std::max(current_->stack_bytes, amount(text, " bytes cumulative stack size"));
  }

  void finish() {
    if (!current_) return;
    const bool uses_memory = current_->stack_bytes > 0 || current_->spill_store_bytes > 0 ||
                             current_->spill_load_bytes > 0;
    if (is_device_function_) {
      current_->kernel += " (device function)";
      if (uses_memory) report_.kernels.push_back(*current_);
    } else if (current_->registers < 0) {
      complain(fmt::format("comes before the registers of {} on {} were named", current_->kernel,
                           current_->arch));
    } else {
      report_.kernels.push_back(*current_);
    }
    current_.reset();
  }

  void complain(const std::string& what) {
    errors_.push_back({file_, number_, "this line of ptxas's report " + what,
                       "build the CUDA kernels again; nvcc writes the report"});
  }
  void complain_of_file(const std::string& what) {
    errors_.push_back({file_, 0, "ptxas's report " + what,
                       "build the CUDA kernels again; nvcc writes the report"});
  }

  std::string file_, arch_, mangled_;
  int number_ = 0;
  std::optional<KernelUsage> current_;
  bool is_device_function_ = false;
  PtxasReport report_;
  Errors errors_;
};

}  // namespace

std::string display_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return mangled;
  std::string text = demangled.get();
  for (const char* space : {"(anonymous namespace)::", "plumbline::", "attention::"})
    text = without_all(text, space);
  for (std::size_t at = text.find("> >"); at != std::string::npos; at = text.find("> >", at))
    text.erase(at + 1, 1);
  text.erase(parameters_at(text));
  if (text.starts_with("void ")) text.erase(0, 5);
  return text.empty() ? mangled : text;  // mangled names may also be types: FvvE
}

int arch_number(std::string_view arch) {
  arch.remove_prefix(std::min(arch.find('_') + 1, arch.size()));
  int number = 0;
  std::from_chars(arch.data(), arch.data() + arch.size(), number);
  return std::max(number, 0);
}

Result<PtxasReport> parse_ptxas_report(std::string_view text, const std::string& file) {
  Parser parser(file);
  int number = 0;
  for (const std::string_view line : split(text, '\n')) parser.line(std::string(line), ++number);
  return parser.result();
}

Result<PtxasReport> read_ptxas_report(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(
        {path.string(), 0, "cannot be read", "build the CUDA kernels, or name another folder"});
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_ptxas_report(text, path.string());
}

}  // namespace plumbline
