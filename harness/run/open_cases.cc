// Writes and reads the list of open cases, and finds what fresh processes answered.
#include "harness/run/open_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/base/json.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr const char* format_name = "plumbline.open_cases";
constexpr int format_version = 1;

Json json_of(const MeasuredWith& m) {
  return {{"providers", m.providers},
          {"no_default_provider", m.no_default_provider},
          {"baselines", m.baselines},
          {"timeout_ms", m.timeout_ms ? Json(*m.timeout_ms) : Json(nullptr)},
          {"memory_limit_mib", m.memory_limit_mib},
          {"reference_cost", m.reference_cost},
          {"row_seed", m.row_seed},
          {"repetitions", m.repetitions}};
}

MeasuredWith measured_from(const Json& json) {
  MeasuredWith m;
  json.at("providers").get_to(m.providers);
  json.at("no_default_provider").get_to(m.no_default_provider);
  json.at("baselines").get_to(m.baselines);
  if (!json.at("timeout_ms").is_null()) m.timeout_ms = json.at("timeout_ms").get<std::int64_t>();
  json.at("memory_limit_mib").get_to(m.memory_limit_mib);
  json.at("reference_cost").get_to(m.reference_cost);
  json.at("row_seed").get_to(m.row_seed);
  json.at("repetitions").get_to(m.repetitions);
  return m;
}

Json json_of(const OpenCase& c) {
  Json expected;
  if (c.expected)
    expected = {{"issue", c.expected->issue},
                {"expires", c.expected->expires},
                {"reason", c.expected->reason}};
  return {{"run_id", c.run_id},
          {"suite", c.suite},
          {"group", c.group},
          {"tier", c.tier},
          {"case_id", c.case_id},
          {"timed", c.timed},
          {"expected", expected},
          {"machine",
           {{"device_kind", c.machine.device_kind},
            {"arch", c.machine.arch},
            {"model", c.machine.model},
            {"memory_bytes", c.machine.memory_bytes},
            {"clock_policy", c.machine.clock_policy}}},
          {"provider_options", c.provider_options},
          {"statistic", c.statistic},
          {"text", c.text},
          {"processes", c.processes}};
}

OpenCase open_case_from(const Json& json) {
  OpenCase c;
  json.at("run_id").get_to(c.run_id);
  json.at("suite").get_to(c.suite);
  json.at("group").get_to(c.group);
  json.at("tier").get_to(c.tier);
  json.at("case_id").get_to(c.case_id);
  json.at("timed").get_to(c.timed);
  if (const auto& expected = json.at("expected"); !expected.is_null()) {
    c.expected.emplace();
    expected.at("issue").get_to(c.expected->issue);
    expected.at("expires").get_to(c.expected->expires);
    expected.at("reason").get_to(c.expected->reason);
  }
  const auto& machine = json.at("machine");
  machine.at("device_kind").get_to(c.machine.device_kind);
  machine.at("arch").get_to(c.machine.arch);
  machine.at("model").get_to(c.machine.model);
  machine.at("memory_bytes").get_to(c.machine.memory_bytes);
  machine.at("clock_policy").get_to(c.machine.clock_policy);
  json.at("provider_options").get_to(c.provider_options);
  json.at("statistic").get_to(c.statistic);
  json.at("text").get_to(c.text);
  json.at("processes").get_to(c.processes);
  return c;
}

OpenCases open_cases_from(const Json& json) {
  OpenCases open;
  json.at("night_id").get_to(open.night_id);
  for (const auto& run : json.at("runs")) {
    open.runs.push_back({run.at("run_id").get<std::string>(), run.at("commit").get<std::string>(),
                         measured_from(run.at("measured_with")), run.at("judged_with").get<int>()});
  }
  for (const auto& c : json.at("cases")) open.cases.push_back(open_case_from(c));
  return open;
}

Json versions_of(const std::string& versions_json) {
  auto versions = parse_json_if_valid(versions_json);
  return versions.is_object() ? versions : Json::object();
}

}  // namespace

std::string with_measured(const std::string& versions_json, const MeasuredWith& measured) {
  Json versions = versions_of(versions_json);
  versions["measured_with"] = json_of(measured);
  return write_json(versions);
}

std::optional<MeasuredWith> read_measured(const std::string& versions_json) {
  const Json versions = versions_of(versions_json);
  if (!versions.contains("measured_with")) return std::nullopt;
  try {
    return measured_from(versions["measured_with"]);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string json_text_of(const OpenCases& open) {
  Json runs = Json::array(), cases = Json::array();
  for (const OpenRun& run : open.runs)
    runs.push_back({{"run_id", run.run_id},
                    {"commit", run.commit},
                    {"measured_with", json_of(run.measured)},
                    {"judged_with", run.judged_with}});
  for (const OpenCase& c : open.cases) cases.push_back(json_of(c));
  const Json json{{"format", {{"name", format_name}, {"version", format_version}}},
                  {"night_id", open.night_id},
                  {"runs", std::move(runs)},
                  {"cases", std::move(cases)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<OpenCases> read_open_cases(const std::filesystem::path& file) {
  constexpr const char* remedy =
      "`plumbline merge OUT.db SHARD.db… --judge --confirmations FILE` "
      "writes such a file";
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Error{file.string(), 0, "cannot be read", remedy});
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const Json json = parse_json_if_valid(text);
  const bool is_ours = json.is_object() && json.contains("format") && json["format"].is_object() &&
                       json["format"].value("name", "") == format_name;
  if (!is_ours) return fail(Error{file.string(), 0, "is no list of open cases", remedy});
  if (json["format"].value("version", 0) != format_version) {
    return fail(Error{file.string(), 0, "is a list of open cases of another plumbline",
                      "write it again with this one: plumbline merge … --judge --confirmations"});
  }
  try {
    return open_cases_from(json);
  } catch (const Json::exception& e) {
    return fail(Error{file.string(), 0,
                      fmt::format("is a damaged list of open cases: {}", e.what()), remedy});
  }
}

std::string with_confirmed_runs(const std::string& versions_json,
                                const std::vector<std::string>& run_ids) {
  Json versions = versions_of(versions_json);
  versions["confirms"] = run_ids;
  return write_json(versions);
}

std::vector<std::string> read_confirmed_runs(const std::string& versions_json) {
  const Json versions = versions_of(versions_json);
  std::vector<std::string> ids;
  if (!versions.contains("confirms") || !versions["confirms"].is_array()) return ids;
  for (const auto& id : versions["confirms"]) {
    if (id.is_string()) ids.push_back(id.get<std::string>());
  }
  return ids;
}

Result<FreshOutcomes> fresh_outcomes(Store& store, const std::vector<std::string>& run_ids) {
  auto runs = store.runs(0);
  if (!runs) return tl::unexpected(runs.error());
  FreshOutcomes fresh;
  for (auto run = runs->rbegin(); run != runs->rend(); ++run) {  // oldest first
    if (run->purpose != "confirm") continue;
    const auto confirms = read_confirmed_runs(run->versions_json);
    const bool is_ours = std::any_of(confirms.begin(), confirms.end(), [&](const std::string& id) {
      return std::find(run_ids.begin(), run_ids.end(), id) != run_ids.end();
    });
    if (!is_ours) continue;
    auto outcomes = store.outcomes(run->run_id);
    if (!outcomes) return tl::unexpected(outcomes.error());
    for (StoredOutcome& stored : *outcomes)
      fresh[{stored.outcome.suite, stored.outcome.case_id}].push_back(std::move(stored));
  }
  return fresh;
}

}  // namespace plumbline
