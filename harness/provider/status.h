// How a request to a kernel ended.
#pragma once

#include <optional>
#include <string_view>

namespace plumbline {

enum class Status { ok, unsupported, crashed, timeout, out_of_memory, error };
std::string_view name(Status);
std::optional<Status> parse_status(std::string_view);

}  // namespace plumbline
