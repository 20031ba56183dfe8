// The page of a database that is still being written: its snapshots, and the cases of each.
#pragma once

#include <deque>
#include <mutex>

#include "harness/cli/commands/page_source.h"
#include "harness/cli/session.h"

namespace plumbline::cli {

// Thread-safe. The database is opened read-only for each lookup, and closed again.
class LivePage {
 public:
  LivePage(DatabaseOption database, std::string subject)
      : database_(std::move(database)), subject_(std::move(subject)) {}

  struct Snapshot {
    std::string id;    // digest of `json`, unique even across servers
    std::string json;  // `Report` of page/src/data.ts
    std::string label;
    std::size_t outcomes = 0;
  };
  // Returns the current snapshot. Reads the database again only if its files have changed.
  Result<Snapshot> now();

  enum class Lack : std::uint8_t { none, row, moment };
  struct Case {
    Lack lack = Lack::none;
    std::string json;  // `Detail` of data.ts
  };
  // Returns a case of the snapshot `id`, or of the newest if `id` is "". Lack::moment if the
  // snapshot is gone, or if the nights that it shows have changed since.
  Result<Case> detail(const std::string& id, std::size_t row);

 private:
  // Identity, size and time of the last write of the database's files.
  using Stamp = std::string;
  struct KeptSnapshot {
    Snapshot moment;
    std::unique_ptr<PageSource> source;
    Stamp stamp;  // stamp at which the nights were last found unchanged; "" if unknown
  };
  Stamp stamp() const;
  // Errors of these three functions end the command.
  KeptSnapshot& newest();
  bool is_unchanged(KeptSnapshot& kept, Store& store) const;
  Case detail_of(const std::string& id, std::size_t row);

  DatabaseOption database_;
  std::string subject_;
  std::mutex mutex_;
  std::deque<KeptSnapshot> kept_;  // newest first
};

}  // namespace plumbline::cli
