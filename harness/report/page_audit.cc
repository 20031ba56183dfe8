// Extracts from an audit's JSON document what the page shows.
#include <fmt/format.h>

#include "harness/report/json_value.h"
#include "harness/report/page_data.h"

namespace plumbline {
namespace {

using Names = std::vector<std::string>;

// Copies these members of each object; absent ones become null.
Json only(const Json& list, const Names& members) {
  return json_list(list, [&](const Json& object) {
    Json row = Json::object();
    for (const std::string& member : members) row[member] = object.value(member, Json());
    return row;
  });
}

Json kept_of(const Json& audit) {
  static const std::pair<const char*, Names> lists[] = {
      {"dtypes",
       {"dtype", "mutants", "caught", "slip_allclose_1e2", "legal_kernels", "legal_flagged",
        "legal_runs", "false_alarms"}},
      {"mutants",
       {"name", "class", "what", "dtype", "runs", "changed", "caught", "by", "first_case", "fault",
        "diagnosed", "reviewed"}},
      {"legal", {"kernel", "dtype", "runs", "false_alarms", "first_case", "why"}}};
  Json kept;
  for (const char* member : {"suites", "problems", "runs", "exit_code", "diagnoses"})
    kept[member] = audit.at(member);
  for (const auto& [list, members] : lists) kept[list] = only(audit.at(list), members);
  return kept;
}

}  // namespace

Result<std::string> audit_for_page(const std::string& text, const std::filesystem::path& file) {
  try {
    const Json document = Json::parse(text);
    if (document.at("schema").at("name") == "plumbline.audit" && !document.at("data").is_null())
      return kept_of(document.at("data")).dump();
  } catch (const Json::exception&) {  // reported below
  }
  return fail(Error{file.string(), 0, "not the result of an audit",
                    "write one with `plumbline audit --format json > FILE`"});
}

}  // namespace plumbline
