// Reads the members that the reviewed TOML files share: kernels, devices, architectures, numbers.
#include "harness/contract/reviewed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "harness/base/enumeration.h"
#include "harness/base/glob.h"
#include "harness/base/table_reader.h"
#include "harness/problem/dtype.h"

namespace plumbline {

using Kind = ConfigNode::Kind;

std::vector<const ConfigNode*> reviewed_tables(const ConfigNode& file, std::string_view key,
                                               Errors& errors) {
  reject_unknown_keys(file, std::array<std::string_view, 2>{"schema", key}, errors);
  const ConfigNode* schema = file.find("schema");
  if (schema != nullptr && !(schema->kind == Kind::integer && schema->number == 1)) {
    errors.push_back(schema->error(fmt::format("schema {} is not known", schema->text),
                                   "this version reads schema = 1"));
  }
  return TableReader(file, errors).tables(key);
}

namespace {

// Returns the texts of a member that is one text or a list of them; empty if it is optional and
// missing.
std::vector<const ConfigNode*> one_or_more(const ConfigNode& table, std::string_view key,
                                           bool required, Errors& errors) {
  const ConfigNode* node = table.find(key);
  if (node == nullptr && !required) return {};
  TableReader reader(table, errors);
  if (node != nullptr && node->kind == Kind::array) return reader.texts(key);
  return reader.text(key, true).empty() ? std::vector<const ConfigNode*>{} : std::vector{node};
}

bool is_device_glob(std::string_view text) {
  return text == "*" || text == "cpu" || text.starts_with("cuda:") || text.starts_with("emulated:");
}

bool is_gpu_arch(std::string_view text) {
  return text.starts_with("sm_") && text.size() > 3 &&
         std::all_of(text.begin() + 3, text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

std::vector<std::string> kernel_globs(const ConfigNode& table, Errors& errors) {
  std::vector<std::string> globs;
  for (const ConfigNode* glob : one_or_more(table, "kernel", true, errors))
    globs.push_back(glob->text);
  return globs;
}

std::vector<std::string> device_globs(const ConfigNode& table, Errors& errors) {
  std::vector<std::string> globs;
  for (const ConfigNode* glob : one_or_more(table, "device", false, errors)) {
    globs.push_back(glob->text);
    if (is_device_glob(glob->text)) continue;
    errors.push_back(glob->error(
        fmt::format("device: \"{}\" matches no device", glob->text),
        "name devices such as cpu or emulated:sm_90; write device = \"cuda:*\" for every GPU"));
  }
  return globs;
}

std::vector<std::string> gpu_archs(const ConfigNode& table, Errors& errors) {
  std::vector<std::string> archs;
  for (const ConfigNode* arch : one_or_more(table, "arch", false, errors)) {
    archs.push_back(arch->text);
    if (is_gpu_arch(arch->text)) continue;
    errors.push_back(arch->error(fmt::format("arch: \"{}\" is not a GPU architecture", arch->text),
                                 "write names such as arch = [\"sm_80\", \"sm_90\"]"));
  }
  return archs;
}

std::vector<std::string> dtypes_of_q(const ConfigNode& table, Errors& errors) {
  std::vector<std::string> dtypes;
  for (const ConfigNode* dtype : one_or_more(table, "dtype", false, errors)) {
    dtypes.push_back(dtype->text);
    const auto known = parse<DType>(dtype->text);
    if (known && std::ranges::find(stored_dtypes, *known) != stored_dtypes.end()) continue;
    errors.push_back(dtype->error(fmt::format("dtype: \"{}\" is not a dtype of Q", dtype->text),
                                  "write names such as dtype = [\"fp16\", \"bf16\"]"));
  }
  return dtypes;
}

bool applies_to(const std::vector<std::string>& devices, const std::vector<std::string>& archs,
                const RunTarget& place) {
  const bool device =
      devices.empty() || std::any_of(devices.begin(), devices.end(), [&](const std::string& glob) {
        return glob_match(glob, place.device);
      });
  return device &&
         (archs.empty() || std::find(archs.begin(), archs.end(), place.arch) != archs.end());
}

const ConfigNode* sub_table(const ConfigNode& table, std::string_view key, Errors& errors) {
  const ConfigNode* node = table.find(key);
  if (node == nullptr || node->kind == Kind::table) return node;
  errors.push_back(
      node->error(fmt::format("{} is not a table", key), fmt::format("write {} = {{ … }}", key)));
  return nullptr;
}

std::optional<double> positive_number(const ConfigNode& table, std::string_view key,
                                      Errors& errors) {
  const ConfigNode* node = table.find(key);
  if (node == nullptr) return std::nullopt;
  const bool is_number = node->kind == Kind::integer || node->kind == Kind::real;
  if (is_number && node->number > 0 && std::isfinite(node->number)) return node->number;
  errors.push_back(
      node->error(fmt::format("{}: \"{}\" is not a finite number above 0", key, node->text),
                  fmt::format("write a number without quotes, such as {} = 6.5", key)));
  return std::nullopt;
}

}  // namespace plumbline
