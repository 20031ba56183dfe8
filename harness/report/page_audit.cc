// Reads an audit's JSON document, and keeps what the page shows of it.
#include <fmt/format.h>

#include "harness/report/json_value.h"
#include "harness/report/page_data.h"

namespace plumbline {
namespace {

// Of each object of a list these members; those that are absent are null.
Json only(const Json& list, std::initializer_list<const char*> members) {
  Json kept = Json::array();
  for (const Json& object : list) {
    Json& row = kept.emplace_back(Json::object());
    for (const char* member : members) row[member] = object.value(member, Json(nullptr));
  }
  return kept;
}

Json kept_of(const Json& audit) {
  return {{"suites", audit.at("suites")},
          {"problems", audit.at("problems")},
          {"runs", audit.at("runs")},
          {"exit_code", audit.at("exit_code")},
          {"diagnoses", audit.at("diagnoses")},
          {"dtypes", only(audit.at("dtypes"),
                          {"dtype", "mutants", "caught", "slip_allclose_1e2", "legal_kernels",
                           "legal_flagged", "legal_runs", "false_alarms"})},
          {"mutants",
           only(audit.at("mutants"), {"name", "class", "what", "dtype", "runs", "changed", "caught",
                                      "by", "first_case", "fault", "diagnosed", "reviewed"})},
          {"legal", only(audit.at("legal"),
                         {"kernel", "dtype", "runs", "false_alarms", "first_case", "why"})}};
}

}  // namespace

Result<std::string> audit_for_page(const std::string& text, const std::filesystem::path& file) {
  try {
    const Json document = Json::parse(text);
    if (document.at("schema").at("name") == "plumbline.audit" && !document.at("data").is_null())
      return kept_of(document.at("data")).dump();
  } catch (const Json::exception&) {  // told below
  }
  return fail(Error{file.string(), 0, "no result of an audit",
                    "write one with `plumbline audit --format json > FILE`"});
}

}  // namespace plumbline
