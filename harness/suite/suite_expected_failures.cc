// Reads and checks the expected failures of a suite, and finds the cases that each may cover.
#include "harness/suite/suite_expected_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/table_reader.h"
#include "harness/suite/suite_devices.h"

namespace plumbline {
namespace {

std::string read_issue(const ConfigNode& entry, Errors& errors) {
  std::string issue = TableReader(entry, errors).text("issue", true);
  if (issue.empty()) return issue;
  const auto host = issue.starts_with("https://") ? 8U : issue.starts_with("http://") ? 7U : 0U;
  if (host == 0 || issue.size() == host || issue.find_first_of(" \t\r\n") != std::string::npos) {
    errors.push_back(entry.find("issue")->error(
        fmt::format("issue \"{}\" is not an http or https address", issue),
        "write the link of the issue whose fix will end this failure"));
  }
  return issue;
}

std::string read_expires(const ConfigNode& entry, Errors& errors) {
  const std::string remedy =
      "write the day on which the failure counts again, for example expires = 2027-01-31";
  const ConfigNode* date = entry.find("expires");
  if (date == nullptr) {
    errors.push_back(entry.error("expires is missing", remedy));
    return "";
  }
  const bool is_text =
      date->kind == ConfigNode::Kind::date || date->kind == ConfigNode::Kind::string;
  if (!is_text || !parse_date(date->text))
    errors.push_back(date->error(fmt::format("expires \"{}\" is not a date", date->text), remedy));
  return date->text;
}

std::vector<std::string> texts_of(const ConfigNode& entry, std::string_view key, bool required,
                                  Errors& errors) {
  std::vector<std::string> texts;
  for (const ConfigNode* node : TableReader(entry, errors).texts(key, required))
    texts.push_back(node->text);
  return texts;
}

FailureEntry read_entry(const ConfigNode& node, Errors& errors) {
  constexpr std::array<std::string_view, 8> known{"reason", "issue", "expires", "kernels",
                                                  "groups", "match", "devices", "arch"};
  reject_unknown_keys(node, known, errors);
  FailureRule rule;
  rule.what = {read_issue(node, errors), read_expires(node, errors),
               TableReader(node, errors).text("reason", true), node.file, node.line};
  rule.kernels = texts_of(node, "kernels", true, errors);
  if (node.find("devices") != nullptr || node.find("arch") != nullptr)
    rule.devices = read_devices(node, errors);
  FailureEntry entry{nullptr, texts_of(node, "groups", false, errors),
                     read_field_lists(node, "match", errors), &node};
  entry.rule = std::make_shared<const FailureRule>(std::move(rule));
  return entry;
}

}  // namespace

std::vector<FailureEntry> read_expected_failures(const ConfigNode& file, Errors& errors) {
  std::vector<FailureEntry> entries;
  for (const ConfigNode* node : TableReader(file, errors).tables("expect_failure")) {
    const std::size_t errors_before = errors.size();
    FailureEntry entry = read_entry(*node, errors);
    if (errors.size() == errors_before) entries.push_back(std::move(entry));
  }
  return entries;
}

bool concerns(const FailureEntry& entry, const SuiteCase& c, std::string_view group) {
  const FailureRule& rule = *entry.rule;
  const bool in_group =
      entry.groups.empty() || std::ranges::find(entry.groups, group) != entry.groups.end();
  const bool on_device =
      rule.devices.empty() || std::ranges::find(rule.devices, c.device) != rule.devices.end();
  const bool by_kernel = std::ranges::any_of(
      rule.kernels, [&](const auto& glob) { return globs_overlap(glob, c.kernel_pattern); });
  return in_group && on_device && by_kernel && has_values(c.problem, entry.match);
}

}  // namespace plumbline
