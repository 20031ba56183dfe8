// Replaces occupancy.cc if the toolkit's headers are not installed: occupancy is unknown.
#include "harness/resources/occupancy.h"

namespace plumbline {

bool occupancy_is_known() { return false; }
std::optional<Occupancy> theoretical_occupancy(std::string_view, const BlockUsage&) {
  return std::nullopt;
}

}  // namespace plumbline
