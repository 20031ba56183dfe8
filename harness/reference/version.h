// The version of the reference's numbers.
#pragma once

namespace plumbline {

// Raised when any result changes. Stored outcomes and cached references of another version are not
// compared.
inline constexpr int reference_version = 7;

}  // namespace plumbline
