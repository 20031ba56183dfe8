// The page over a database that goes on being written: moments of it, and the cases of each.
#pragma once

#include <deque>
#include <mutex>

#include "harness/cli/commands/page_source.h"
#include "harness/cli/session.h"

namespace plumbline::cli {

// Any number of threads may ask. The database is opened for reading where something is looked up,
// and closed again.
class LivePage {
 public:
  LivePage(DatabaseOption database, std::string subject)
      : database_(std::move(database)), subject_(std::move(subject)) {}

  struct Moment {
    std::string id;    // of these bytes; no two moments share it, of no two servers either
    std::string json;  // Report of page/src/data.ts
    std::string label;
    std::size_t outcomes = 0;
  };
  // What the database holds now. It is read again only where its files have changed.
  Result<Moment> now();

  enum class Lack : std::uint8_t { none, row, moment };
  struct Case {
    Lack lack = Lack::none;
    std::string json;  // Detail of data.ts
  };
  // A case of a moment that was answered; "" = the newest. Lack::moment where it is gone, or where
  // the past that it showed was written anew since.
  Result<Case> detail(const std::string& id, std::size_t row);

 private:
  // Of the database's files: which they are, how long, and when they were written.
  using Stamp = std::string;
  struct Kept {
    Moment moment;
    std::unique_ptr<PageSource> source;
    Stamp stamp;  // when the past was last found to be as it is here; "" = cannot tell
  };
  Stamp stamp() const;
  // Errors of these three end a command.
  Kept& newest();
  bool is_as_it_was(Kept& kept, Store& store) const;
  Case detail_of(const std::string& id, std::size_t row);

  DatabaseOption database_;
  std::string subject_;
  std::mutex mutex_;
  std::deque<Kept> kept_;  // the newest first
};

}  // namespace plumbline::cli
