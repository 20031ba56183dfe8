#include "harness/resources/ptxas_report.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <tuple>

#include "harness/problem/text.h"

namespace plumbline {
namespace {

std::string without_all(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
  return text;
}

// Where the parameter list of a demangled function begins: the last '(' outside of template arguments and of other parentheses.
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

// The number before `unit` on this line, 0 where it does not stand there: "Used 84 registers, 1024 bytes smem".
int amount(const std::string& line, const std::string& pattern) {
  int sum = 0;
  const std::regex expression(pattern);
  for (std::sregex_iterator match(line.begin(), line.end(), expression), end; match != end; ++match)
    sum += std::atoi((*match)[1].str().c_str());
  return sum;
}

class Parser {
 public:
  explicit Parser(std::string file) : file_(std::move(file)) {}

  void line(const std::string& text, int number) {
    number_ = number;
    static const std::regex header("^# (source|toolkit): (.*)$"), entry("Compiling entry function '([^']+)' for '(sm_[0-9]+[a-z]?)'"),
        properties("Function properties for ([^ ]+)$");
    std::smatch match;
    if (std::regex_search(text, match, header)) {
      (match[1] == "source" ? report_.source : report_.toolkit) = match[2];
    } else if (text.ends_with(" bytes gmem") || text.find(" bytes gmem, ") != std::string::npos) {  // begins an architecture, not yet named
      finish();
      arch_.clear();
    } else if (std::regex_search(text, match, entry)) {
      finish();
      arch_ = match[2];
      begin(match[1]);
    } else if (std::regex_search(text, match, properties)) {
      if (current_ && mangled_ == match[1]) return;  // of the kernel that is being compiled
      finish();
      if (arch_.empty()) return complain("names a function before any kernel");
      begin(match[1]);
      is_device_function_ = true;
    } else if (text.find("bytes stack frame") != std::string::npos) {
      if (!current_) return complain("belongs to no function");
      current_->stack_bytes = std::max(current_->stack_bytes, amount(text, "([0-9]+) bytes stack frame"));
      current_->spill_store_bytes = amount(text, "([0-9]+) bytes spill stores");
      current_->spill_load_bytes = amount(text, "([0-9]+) bytes spill loads");
    } else if (text.find(": Used ") != std::string::npos) {
      if (!current_ || is_device_function_) return complain("belongs to no kernel");
      used(text);
    }
  }

  Result<PtxasReport> result() {
    finish();
    if (report_.source.empty() || report_.toolkit.empty()) complain_of_file("lacks its header (\"# source: …\", \"# toolkit: …\")");
    if (errors_.empty() && report_.kernels.empty()) complain_of_file("names no kernel");
    if (!errors_.empty()) return tl::unexpected(errors_);
    const auto order = [](const KernelUsage& usage) { return std::tuple(usage.kernel, arch_number(usage.arch), usage.arch); };
    std::sort(report_.kernels.begin(), report_.kernels.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
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
    current_->registers = amount(text, "Used ([0-9]+) registers");
    current_->barriers = amount(text, "used ([0-9]+) barriers");
    current_->shared_bytes = amount(text, "([0-9]+) bytes smem");
    current_->constant_bytes = amount(text, "([0-9]+) bytes cmem");
    current_->stack_bytes = std::max(current_->stack_bytes, amount(text, "([0-9]+) bytes cumulative stack size"));
  }

  void finish() {
    if (!current_) return;
    const bool uses_memory = current_->stack_bytes > 0 || current_->spill_store_bytes > 0 || current_->spill_load_bytes > 0;
    if (is_device_function_) {
      current_->kernel += " (device function)";
      if (uses_memory) report_.kernels.push_back(*current_);
    } else if (current_->registers < 0) {
      complain(fmt::format("comes before the registers of {} on {} were named", current_->kernel, current_->arch));
    } else {
      report_.kernels.push_back(*current_);
    }
    current_.reset();
  }

  void complain(const std::string& what) {
    errors_.push_back({file_, number_, "this line of ptxas's report " + what, "build the CUDA kernels again; nvcc writes the report"});
  }
  void complain_of_file(const std::string& what) {
    errors_.push_back({file_, 0, "ptxas's report " + what, "build the CUDA kernels again; nvcc writes the report"});
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
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return mangled;
  std::string text = demangled.get();
  for (const char* space : {"(anonymous namespace)::", "plumbline::", "attention::"}) text = without_all(text, space);
  for (std::size_t at = text.find("> >"); at != std::string::npos; at = text.find("> >", at)) text.erase(at + 1, 1);
  text.erase(parameters_at(text));
  if (text.starts_with("void ")) text.erase(0, 5);
  return text;
}

int arch_number(std::string_view arch) { return std::atoi(std::string(arch.substr(std::min(arch.find('_') + 1, arch.size()))).c_str()); }

Result<PtxasReport> parse_ptxas_report(std::string_view text, const std::string& file) {
  Parser parser(file);
  int number = 0;
  for (const std::string_view line : split(text, '\n')) parser.line(std::string(line), ++number);
  return parser.result();
}

Result<PtxasReport> read_ptxas_report(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail({path.string(), 0, "cannot be read", "build the CUDA kernels, or name another folder"});
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_ptxas_report(text, path.string());
}

}  // namespace plumbline
