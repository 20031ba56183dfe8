// Writes and reads the list of open cases, and finds the outcomes of fresh processes.
#include "harness/run/open_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/json.h"
#include "harness/suite/expected_failure.h"

// nlohmann-json has no serializer for std::optional. An empty optional becomes null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(json& json, const std::optional<T>& value) {
    if (value)
      json = *value;
    else
      json = nullptr;
  }
  static void from_json(const json& json, std::optional<T>& value) {
    if (!json.is_null()) json.get_to(value.emplace());
  }
};

namespace plumbline {

// Lists each object's fields once, for writing and reading.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasureSetup, providers, no_default_provider, baselines,
                                   timeout_ms, memory_limit_mib, reference_cost, row_seed,
                                   repetitions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExpectedFailure, issue, expires, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineClass, device_kind, arch, model, memory_bytes,
                                   clock_policy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenCase, run_id, suite, group, tier, case_id, timed, expected,
                                   machine, provider_options, statistic, text, processes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenRun, run_id, commit, measured_with, judged_with)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OpenCases, night_id, runs, cases)

namespace {

using Json = nlohmann::json;

constexpr const char* format_name = "plumbline.open_cases";
constexpr int format_version = 1;

Json versions_of(const std::string& versions_json) {
  auto versions = parse_json_if_valid(versions_json);
  return versions.is_object() ? versions : Json::object();
}

}  // namespace

std::string add_measure_setup(const std::string& versions_json, const MeasureSetup& measured) {
  Json versions = versions_of(versions_json);
  versions["measured_with"] = measured;
  return write_json(versions);
}

std::optional<MeasureSetup> parse_measure_setup(const std::string& versions_json) {
  const Json versions = versions_of(versions_json);
  if (!versions.contains("measured_with")) return std::nullopt;
  try {
    return versions["measured_with"].get<MeasureSetup>();
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string json_text_of(const OpenCases& open) {
  Json json = open;
  json["format"] = {{"name", format_name}, {"version", format_version}};
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
    return fail(Error{file.string(), 0, "is a list of open cases of another plumbline version",
                      "write it again with this version: "
                      "plumbline merge … --judge --confirmations"});
  }
  try {
    return json.get<OpenCases>();
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
    const bool is_ours = std::ranges::any_of(confirms, [&](const std::string& id) {
      return std::ranges::find(run_ids, id) != run_ids.end();
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
