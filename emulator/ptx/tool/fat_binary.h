// The fat-binary subcommands of plumbline-ptx. Each returns its output, or an error with the file
// and a remedy.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace plumbline::ptx {

// Returns the contents of a file, or an error with the remedy.
tl::expected<std::string, std::string> contents(
    const std::string& path,
    std::string_view remedy = "name a file of PTX, such as nvcc -ptx or Triton writes");

// Writes a fat binary of these PTX files.
tl::expected<std::string, std::string> pack(const std::vector<std::string>& paths,
                                            const std::string& output);
// Returns one line per entry.
tl::expected<std::string, std::string> list(const std::string& path);

}  // namespace plumbline::ptx
