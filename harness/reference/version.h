// The version of the reference's numbers.
#pragma once

namespace plumbline {

// Raised when any result changes. Stored outcomes of another version are not compared, and its
// cached references are not used.
inline constexpr int reference_version = 7;

}  // namespace plumbline
