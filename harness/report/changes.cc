// Renders the changes of a run as a table.
#include "harness/report/changes.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {

std::string_view in_words(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::vanished:
      return "vanished";
    case ChangeKind::refused:
      return "now refused";
    case ChangeKind::excused:
      return "now excused";
    case ChangeKind::untimed:
      return "no longer timed";
    case ChangeKind::looser_contract:
      return "looser contract";
    case ChangeKind::slower:
      return "slower, not judged yet";
    case ChangeKind::faster:
      return "faster";
    case ChangeKind::smaller_error:
      return "smaller error";
    case ChangeKind::other_driver:
      return "other driver";
    case ChangeKind::faster_less_accurate:
      return "faster, less accurate";
  }
  return "";
}

TallyTable changes_table(const std::vector<RunChange>& changes, std::size_t most) {
  std::vector<const RunChange*> sorted;
  sorted.reserve(changes.size());
  for (const RunChange& change : changes) sorted.push_back(&change);
  std::stable_sort(sorted.begin(), sorted.end(), [](const RunChange* a, const RunChange* b) {
    const bool first = needs_attention(a->change.standing);
    if (first != needs_attention(b->change.standing)) return first;
    return a->change.kind < b->change.kind;
  });
  TallyTable table{{"changed", "case", "what"}, {}};
  for (const RunChange* row : sorted) {
    if (table.rows.size() == most) {
      table.rows.push_back({"…", fmt::format("and {} more", sorted.size() - most), ""});
      break;
    }
    table.rows.push_back({std::string(in_words(row->change.kind)), row->case_id, row->change.text});
  }
  return table;
}

}  // namespace plumbline
