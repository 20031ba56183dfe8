// The common beginning of each compiled source (Prelude.cmake).
#pragma once

#include <string_view>

namespace plumbline::ptx {

std::string_view prelude();

}  // namespace plumbline::ptx
