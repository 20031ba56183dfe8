// Keeps the newest snapshots in memory, and reads histories of cases on request.
#include "harness/cli/commands/live_page.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/page_history.h"
#include "harness/store/keys.h"

namespace plumbline::cli {
namespace {

// Snapshots kept. A browser tab that shows an older one has to be reloaded.
constexpr std::size_t max_snapshots = 4;
// A younger file has no stamp, because two writes within a tick of the file system's clock have the
// same time.
constexpr double min_age_s = 0.1;

bool is_same_night(const PageNight& a, const PageNight& b) {
  return a.name == b.name && a.run_ids == b.run_ids && a.state == b.state && a.fine == b.fine &&
         a.failures == b.failures && a.open == b.open && a.unmeasured == b.unmeasured &&
         a.suspect == b.suspect;
}

}  // namespace

LivePage::Stamp LivePage::stamp() const {
  Stamp text;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const char* const end : {"", "-wal"}) {
    struct stat file {};
    const std::string path = database_.path.string() + end;
    // A reader may leave an empty write-ahead log, or none.
    if (::stat(path.c_str(), &file) != 0 || file.st_size == 0) continue;
    const double written =
        static_cast<double>(file.st_mtim.tv_sec) + 1e-9 * static_cast<double>(file.st_mtim.tv_nsec);
    if (now - written < min_age_s) return "";
    text += fmt::format("{} {} {} {}.{}\n", file.st_dev, file.st_ino, file.st_size,
                        file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
  }
  return text;
}

LivePage::KeptSnapshot& LivePage::newest() {
  // Taken before the database is read, so that the next call finds writes made since.
  const Stamp stamp_now = stamp();
  if (!kept_.empty() && !stamp_now.empty() && kept_.front().stamp == stamp_now)
    return kept_.front();
  const auto store = need(database_.open(true));
  const RunSelection selection = need(page_subject(*store, subject_));
  KeptSnapshot kept;
  kept.source = read_page_source(*store, selection, database_.path);
  kept.source->input.live = true;
  kept.moment.json = json_of_page(kept.source->input);
  kept.moment.id = hex(key_of(kept.moment.json));
  kept.moment.label = selection.label;
  kept.moment.outcomes = kept.source->stored.outcomes.size();
  kept.stamp = stamp_now;
  kept_.push_front(std::move(kept));
  if (kept_.size() > max_snapshots) kept_.pop_back();
  return kept_.front();
}

Result<LivePage::Snapshot> LivePage::now() {
  const std::lock_guard lock(mutex_);
  return as_result([&] { return newest().moment; });
}

bool LivePage::is_unchanged(KeptSnapshot& kept, Store& store) const {
  const Stamp stamp_now = stamp();
  if (!stamp_now.empty() && kept.stamp == stamp_now) return true;
  const auto nights = nights_before(store, kept.source->stored);
  const auto& shown = kept.source->input.nights;
  const bool same = std::ranges::equal(nights, shown, is_same_night);
  if (same) kept.stamp = stamp_now;
  return same;
}

Result<LivePage::Case> LivePage::detail(const std::string& id, std::size_t row) {
  const std::lock_guard lock(mutex_);
  return as_result([&] { return detail_of(id, row); });
}

LivePage::Case LivePage::detail_of(const std::string& id, std::size_t row) {
  if (id.empty() && kept_.empty()) newest();
  const auto found =
      id.empty() ? kept_.begin() : std::ranges::find_if(kept_, [&](const KeptSnapshot& kept) {
        return kept.moment.id == id;
      });
  if (found == kept_.end()) return Case{Lack::moment, ""};
  PageSource& source = *found->source;
  if (row >= source.stored.outcomes.size()) return Case{Lack::row, ""};
  if (!source.input.history.contains(row)) {
    const auto store = need(database_.open(true));
    auto histories = histories_of(*store, source.stored, {row}, source.input.nights);
    // Checked after the histories are read, because they may include writes since the snapshot.
    if (!is_unchanged(*found, *store)) return Case{Lack::moment, ""};
    source.input.history[row] = std::move(histories[row]);
  }
  return Case{Lack::none, json_of_page_case(source.input, row)};
}

}  // namespace plumbline::cli
