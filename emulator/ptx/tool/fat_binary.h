// The subcommands of plumbline-ptx for fat binaries: what each prints, or what is wrong, with the
// file and a remedy.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace plumbline::ptx {

// Of a file; or that it cannot be read, with the remedy.
tl::expected<std::string, std::string> contents(
    const std::string& path,
    std::string_view remedy = "name a file of PTX, such as nvcc -ptx or Triton writes");

// Writes a fat binary of these files of PTX.
tl::expected<std::string, std::string> pack(const std::vector<std::string>& paths,
                                            const std::string& output);
// A line an entry.
tl::expected<std::string, std::string> list(const std::string& path);

}  // namespace plumbline::ptx
