// Names statuses, padding policies and promises as they are printed and stored.
#include <array>

#include "harness/provider/promises.h"
#include "harness/provider/status.h"

namespace plumbline {

namespace {
constexpr std::array<std::string_view, 6> status_names{"ok",      "unsupported",   "crashed",
                                                       "timeout", "out_of_memory", "error"};
constexpr std::array<std::string_view, 3> padding_policy_names{"zeros", "untouched", "attended"};
constexpr std::array<std::string_view, 3> promise_names{"none", "rounding", "bitwise"};
}  // namespace

std::string_view name(Status status) { return status_names.at(static_cast<std::size_t>(status)); }
std::string_view name(PaddingPolicy policy) {
  return padding_policy_names.at(static_cast<std::size_t>(policy));
}
std::string_view name(Promise promise) {
  return promise_names.at(static_cast<std::size_t>(promise));
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t i = 0; i < status_names.size(); ++i) {
    if (status_names[i] == text) return static_cast<Status>(i);
  }
  return std::nullopt;
}

}  // namespace plumbline
