// Reads the run's rows from the file once more, and prints the last messages of a run.
#include "harness/cli/commands/run_end.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <vector>

#include "harness/provider/client/isolation.h"
#include "harness/store/store.h"

namespace plumbline::cli {
namespace {

Result<void> compare_rows(const std::filesystem::path& database, const RunSession& session) {
  const auto store = Store::open(database, true);
  if (!store) return tl::unexpected(store.error());
  const std::string& run_id = session.info().run_id;
  const auto outcomes = (*store)->outcomes(run_id);
  const auto diffs = (*store)->diffs(run_id);
  const auto invariances = (*store)->invariances(run_id);
  if (!outcomes) return tl::unexpected(outcomes.error());
  if (!diffs) return tl::unexpected(diffs.error());
  if (!invariances) return tl::unexpected(invariances.error());
  const std::size_t found = outcomes->size() + diffs->size() + invariances->size();
  const std::size_t measured =
      session.outcomes().size() + session.diffs().size() + session.invariances().size();
  if (found == measured) return {};
  return fail(Error{database.string(), 0,
                    fmt::format("holds {} of the {} results of run {}: something else changed the "
                                "file during the run",
                                found, measured, run_id.substr(0, 8)),
                    "restore the file from a copy, and run again"});
}

}  // namespace

std::string resume_remedy(const RunSession& session, const std::filesystem::path& database) {
  const auto store = Store::open(database, true);
  const auto stored =
      store ? (*store)->outcomes(session.info().run_id) : tl::make_unexpected(store.error());
  return fmt::format("{} of {} cases are stored; the same command with --resume measures the rest",
                     stored ? std::to_string(stored->size()) : "some",
                     session.info().planned_cases);
}

Result<void> check_stored(const std::filesystem::path& database, RunSession& session) {
  auto same = compare_rows(database, session);
  if (!same) session.mark_not_stored(same.error());
  return same;
}

void print_cpu_references(const ReferenceLibrary* library) {
  if (library == nullptr) return;
  for (const auto& [why, count] : library->refusals()) {
    fmt::print(stderr, "{} {} computed on the CPU, not on the GPU: {}\n", count,
               count == 1 ? "reference was" : "references were", why);
  }
}

void print_ended_orphans() {
  const std::vector<std::string> all = ended_orphans();
  if (all.empty()) return;
  const std::set<std::string> names(all.begin(), all.end());
  fmt::print(stderr, "{} {} outlived the worker that started {} and {} ended: {}\n", all.size(),
             all.size() == 1 ? "process" : "processes", all.size() == 1 ? "it" : "them",
             all.size() == 1 ? "was" : "were", fmt::join(names, ", "));
}

void step_unless_stdout_closed(Progress& progress) {
  progress.step();
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  const bool is_read = ::poll(&out, 1, 0) != 1 || (out.revents & POLLERR) == 0;
  if (!is_read) std::raise(SIGPIPE);
}

}  // namespace plumbline::cli
