// The processor time of the calling thread, which other load does not lengthen.
#pragma once

#include <chrono>

namespace plumbline {

std::chrono::nanoseconds thread_time();

}  // namespace plumbline
