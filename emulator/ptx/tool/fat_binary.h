// The subcommands of plumbline-ptx for fat binaries: what each prints, or what is wrong, with the
// file and a remedy.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace plumbline::ptx {

// Writes a fat binary of these files of PTX.
tl::expected<std::string, std::string> pack(const std::vector<std::string>& paths,
                                            const std::string& output);
// A line an entry.
tl::expected<std::string, std::string> list(const std::string& path);

}  // namespace plumbline::ptx
