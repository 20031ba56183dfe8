// Finds the unfinished run with the same plan and setup, and removes from the plan what it stored.
#include "harness/run/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/attempt.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/provider/client/launch.h"
#include "harness/run/version.h"
#include "harness/store/keys.h"

namespace plumbline {
namespace {

constexpr const char* facts_member = "resumable";

std::string digest(std::string_view text) { return hex(key_of(text)).substr(0, 16); }

std::string digest_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
  file.seekg(0);
  // Reads in one call, because programs are tens of MB.
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file ? digest(bytes) : "unreadable";
}

std::string text_of(const PlannedCase& c) {
  const ExpectedFailure expected = c.expected.value_or(ExpectedFailure{});
  return canonical_text({c.suite, c.group, name(c.tier), c.case_id, c.timed ? "timed" : "",
                         c.tensor_cores, expected.issue, expected.expires, expected.reason});
}

std::string plan_digest(const Plan& plan) {
  std::string text;
  for (const auto& c : plan.cases) text += text_of(c);
  for (const auto& d : plan.diffs)
    text +=
        canonical_text({d.suite, d.name, name(d.tier), std::to_string(static_cast<int>(d.expect)),
                        text_of(d.a), text_of(d.b)});
  return digest(text);
}

RunFacts facts_of(const RunInfo& run) {
  const auto versions = parse_json_if_valid(run.versions_json);
  if (!versions.is_object() || !versions.contains(facts_member)) return {};
  return versions[facts_member].get<RunFacts>();
}

std::string differences(const RunFacts& then, const RunFacts& now) {
  std::vector<std::string> lines;
  const auto value = [](const RunFacts& facts, const std::string& key) {
    const auto at = facts.find(key);
    return at == facts.end() ? std::string("none") : at->second;
  };
  RunFacts all = then;
  all.insert(now.begin(), now.end());
  for (const auto& [key, ignored] : all) {
    if (value(then, key) != value(now, key))
      lines.push_back(fmt::format("{}: {} then, {} now", key, value(then, key), value(now, key)));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

using CaseName = std::pair<std::string, std::string>;  // suite, case id

// Returns the cases that need no more measuring. Invariances are measured only for cases that ran
// successfully themselves.
std::set<CaseName> finished_cases(const StoredPart& stored,
                                  const std::vector<Invariance>& invariances) {
  std::map<CaseName, std::set<Invariance>> measured;
  for (const auto& i : stored.invariances)
    measured[{i.outcome.suite, i.outcome.case_id}].insert(i.outcome.invariance);
  std::set<CaseName> finished;
  for (const auto& [outcome, judgement] : stored.outcomes) {
    const bool asked = outcome.status == Status::ok && outcome.reused_from.empty();
    const CaseName case_name{outcome.suite, outcome.case_id};
    if (!asked || measured[case_name].size() >= invariances.size()) finished.insert(case_name);
  }
  return finished;
}

}  // namespace

RunFacts run_facts(const RunInfo& run, const Plan& plan, const Runner& runner,
                   const std::filesystem::path& reviewed_directory) {
  const MeasureOptions& options = runner.options;
  const auto invariances = texts_of(runner.invariances, [](Invariance i) { return name(i); });
  const auto& machine = run.machine;
  RunFacts facts{
      {"plumbline", fmt::format("{} {}", version(), digest_of_file("/proc/self/exe"))},
      {"machine", fmt::format("{} {} {} {} {}", machine.device_kind, machine.arch, machine.model,
                              machine.memory_bytes, machine.clock_policy)},
      {"plan", fmt::format("{} cases and {} diffs ({})", plan.cases.size(), plan.diffs.size(),
                           plan_digest(plan))},
      {"--shard", run.shard},
      {"--timeout",
       options.timeout ? fmt::format("{} ms", options.timeout->count()) : "derived from the work"},
      {"--memory-limit", fmt::format("{} bytes", options.memory_limit_bytes)},
      {"--reference-cost", fmt::format("{}", options.reference_cost_limit)},
      {"--repetitions", fmt::format("{}", options.time_repetitions)},
      {"--reference", options.reference_library == nullptr ? "cpu" : "a GPU library"},
      {"--invariances", fmt::format("{}", fmt::join(invariances, ","))}};
  for (const char* file : {"contracts.toml", "support.toml"})
    facts[file] = digest_of_file(reviewed_directory / file);
  for (const auto& provider : options.providers) {
    const auto launch = find_launch({options.worker_executable, provider});
    if (!launch) continue;  // cannot happen: discover() has already started it
    facts["provider " + provider] = digest_of_file(launch->provider);
    for (const auto& word : launch->command) {
      if (std::filesystem::is_regular_file(word)) facts["worker " + word] = digest_of_file(word);
    }
  }
  return facts;
}

void store_facts(RunInfo& run, const RunFacts& facts) {
  auto versions = parse_json_if_valid(run.versions_json);
  if (!versions.is_object()) versions = nlohmann::json::object();
  versions[facts_member] = facts;
  run.versions_json = write_json(versions);
}

Result<RunInfo> run_to_resume(Store& store, const RunFacts& facts) {
  auto runs = store.runs(0);
  if (!runs) return tl::unexpected(runs.error());
  std::optional<RunInfo> newest;
  for (auto& info : *runs) {
    const auto stored = store.run(info.run_id);
    if (!stored) return tl::unexpected(stored.error());
    if (stored->finished || info.purpose == "resources") continue;
    if (facts_of(info) == facts) return std::move(info);
    if (!newest) newest = std::move(info);
  }
  if (!newest)
    return fail("there is no unfinished run to resume", "leave --resume out to begin a run");
  const auto then = facts_of(*newest);
  const auto why = then.empty() ? std::string(
                                      "it has no record of its setup, because an older plumbline "
                                      "or another command stored it")
                                : differences(then, facts);
  return fail(
      fmt::format("the newest unfinished run, {} of {}, cannot be resumed: {}",
                  newest->run_id.substr(0, 8), newest->started_at, why),
      fmt::format(
          "repeat its command ({}) with the same files; or leave --resume out to begin a run",
          newest->command_line));
}

Result<StoredPart> read_part(Store& store, const std::string& run_id) {
  return attempt([&] {
    return StoredPart{unwrap(store.outcomes(run_id)), unwrap(store.diffs(run_id)),
                      unwrap(store.invariances(run_id))};
  });
}

Plan remaining(const Plan& plan, const StoredPart& stored,
               const std::vector<Invariance>& invariances) {
  const auto finished = finished_cases(stored, invariances);
  const auto is_missing = [&](const PlannedCase& c) {
    return !finished.contains({c.suite, c.case_id});
  };
  std::set<std::string> problems;
  for (const auto& c : plan.cases) {
    if (!c.timed && is_missing(c)) problems.insert(problem_id(c.c.problem));
  }
  std::set<std::array<std::string, 4>> diffs;
  for (const auto& [d, judgement] : stored.diffs)
    diffs.insert({d.suite, d.name, d.case_a, d.case_b});
  Plan rest;
  rest.partial = plan.partial;
  for (const auto& c : plan.cases) {
    if (c.timed ? is_missing(c) : problems.contains(problem_id(c.c.problem)))
      rest.cases.push_back(c);
  }
  for (const auto& d : plan.diffs) {
    if (!diffs.contains({d.suite, d.name, d.a.case_id, d.b.case_id})) rest.diffs.push_back(d);
  }
  return rest;
}

// A name in the abstract socket namespace needs no file, and is freed when its process ends.
Result<std::unique_ptr<RunLock>> RunLock::claim(const std::string& run_id) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = "plumbline-run-" + run_id;
  const std::size_t length = std::min(text.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, text.data(), length);
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<RunLock> owner(new RunLock(descriptor));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (descriptor < 0 ||
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0 ||
      errno != EADDRINUSE)
    return owner;
  return fail(fmt::format("run {} is still being measured by another process", run_id.substr(0, 8)),
              "wait until it is done, or stop it");
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace plumbline
