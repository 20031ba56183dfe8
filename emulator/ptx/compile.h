// Translated kernels as libraries: compiled by this machine's C++ compiler when they are first
// needed, kept by what they were made from.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "emulator/ptx/run.h"

namespace plumbline::ptx {

struct CompileOptions {
  // A program that takes g++'s options. Empty: $PLUMBLINE_PTX_CXX, else c++.
  std::string compiler;
  // Empty: $PLUMBLINE_PTX_CACHE, else plumbline/ptx in $XDG_CACHE_HOME or ~/.cache. A library is
  // named by a hash of its source, the flags and the compiler's version; nothing is ever changed
  // there, and all of it may be deleted at any time. Beside each lies its source.
  std::filesystem::path cache;
  // Libraries that were compiled beforehand (compile_ahead): looked for first, and no compiler is
  // needed where one is found. Empty: none.
  std::filesystem::path prebuilt;
};

// How messages and libraries name a text of PTX: "0123456789abcdef.ptx", by its hash.
std::string text_name(std::string_view text);

// Compiles one entry into the folder `into`, which may then be CompileOptions::prebuilt. Nothing is
// done where its library is there.
tl::expected<void, std::string> compile_ahead(const Module&, std::string_view entry,
                                              const std::string& name, const Options&,
                                              const std::filesystem::path& into);

// The folder that `cache` stands for, made where it is missing.
tl::expected<std::filesystem::path, std::string> cache_folder(const CompileOptions&);

// A whole source: translated/machine.h, numbers.h and thread.h as one text, and the translation,
// whose lines are those of the PTX `name`.
std::string whole_source(const Translation&, std::string_view name);

// One entry of a module, translated, compiled and loaded. `name` ("module.ptx") appears in
// messages. Errors name what failed, in the PTX or of the compiler, with a remedy.
tl::expected<Kernel, std::string> compile(const Module&, std::string_view entry,
                                          const std::string& name, const Options&,
                                          const CompileOptions&);

}  // namespace plumbline::ptx
