// Writes and reads the list of open cases, and finds what fresh processes answered.
#include "harness/run/open_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "harness/base/json.h"
#include "harness/suite/expected_failure.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr const char* format_name = "plumbline.open_cases";
constexpr int format_version = 1;

// Each object's fields once, for writing and reading: `fields` is Writer or Reader.
template <class Row, class Of>
concept Is = std::same_as<std::remove_const_t<Row>, Of>;

template <class Fields, Is<MeasuredWith> Row>
void each_field(Fields& fields, Row& m) {
  fields("providers", m.providers);
  fields("no_default_provider", m.no_default_provider);
  fields("baselines", m.baselines);
  fields("timeout_ms", m.timeout_ms);
  fields("memory_limit_mib", m.memory_limit_mib);
  fields("reference_cost", m.reference_cost);
  fields("row_seed", m.row_seed);
  fields("repetitions", m.repetitions);
}

template <class Fields, Is<ExpectedFailure> Row>
void each_field(Fields& fields, Row& expected) {
  fields("issue", expected.issue);
  fields("expires", expected.expires);
  fields("reason", expected.reason);
}

template <class Fields, Is<MachineClass> Row>
void each_field(Fields& fields, Row& machine) {
  fields("device_kind", machine.device_kind);
  fields("arch", machine.arch);
  fields("model", machine.model);
  fields("memory_bytes", machine.memory_bytes);
  fields("clock_policy", machine.clock_policy);
}

template <class Fields, Is<OpenCase> Row>
void each_field(Fields& fields, Row& c) {
  fields("run_id", c.run_id);
  fields("suite", c.suite);
  fields("group", c.group);
  fields("tier", c.tier);
  fields("case_id", c.case_id);
  fields("timed", c.timed);
  fields("expected", c.expected);
  fields("machine", c.machine);
  fields("provider_options", c.provider_options);
  fields("statistic", c.statistic);
  fields("text", c.text);
  fields("processes", c.processes);
}

struct Writer {
  Json json = Json::object();

  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = json_of(value);
  }
  template <class T>
  static Json json_of(const T& value) {
    if constexpr (requires(Writer & fields) { each_field(fields, value); }) {
      Writer writer;
      each_field(writer, value);
      return std::move(writer.json);
    } else {
      return value;
    }
  }
  template <class T>
  static Json json_of(const std::optional<T>& value) {
    return value ? json_of(*value) : Json();
  }
};

struct Reader {
  const Json& json;

  template <class T>
  void operator()(const char* key, T& value) {
    read(json.at(key), value);
  }
  template <class T>
  static void read(const Json& from, T& value) {
    if constexpr (requires(Reader & fields) { each_field(fields, value); }) {
      Reader reader{from};
      each_field(reader, value);
    } else {
      from.get_to(value);
    }
  }
  template <class T>
  static void read(const Json& from, std::optional<T>& value) {
    if (!from.is_null()) read(from, value.emplace());
  }
};

template <class Row>
Row read_from(const Json& json) {
  Row row;
  Reader::read(json, row);
  return row;
}

OpenCases open_cases_from(const Json& json) {
  OpenCases open;
  json.at("night_id").get_to(open.night_id);
  for (const auto& run : json.at("runs")) {
    open.runs.push_back({run.at("run_id").get<std::string>(), run.at("commit").get<std::string>(),
                         read_from<MeasuredWith>(run.at("measured_with")),
                         run.at("judged_with").get<int>()});
  }
  for (const auto& c : json.at("cases")) open.cases.push_back(read_from<OpenCase>(c));
  return open;
}

Json versions_of(const std::string& versions_json) {
  auto versions = parse_json_if_valid(versions_json);
  return versions.is_object() ? versions : Json::object();
}

}  // namespace

std::string with_measured(const std::string& versions_json, const MeasuredWith& measured) {
  Json versions = versions_of(versions_json);
  versions["measured_with"] = Writer::json_of(measured);
  return write_json(versions);
}

std::optional<MeasuredWith> read_measured(const std::string& versions_json) {
  const Json versions = versions_of(versions_json);
  if (!versions.contains("measured_with")) return std::nullopt;
  try {
    return read_from<MeasuredWith>(versions["measured_with"]);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::string json_text_of(const OpenCases& open) {
  Json runs = Json::array(), cases = Json::array();
  for (const OpenRun& run : open.runs)
    runs.push_back({{"run_id", run.run_id},
                    {"commit", run.commit},
                    {"measured_with", Writer::json_of(run.measured)},
                    {"judged_with", run.judged_with}});
  for (const OpenCase& c : open.cases) cases.push_back(Writer::json_of(c));
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
