// Translated kernels as libraries: compiled by this machine's C++ compiler at first use and cached
// by the hash of their source.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "emulator/ptx/run.h"

namespace plumbline::ptx {

struct CompileOptions {
  // A program that takes g++'s options. Empty: $PLUMBLINE_PTX_CXX, otherwise c++.
  std::string compiler;
  // The cache folder. Empty: $PLUMBLINE_PTX_CACHE, otherwise plumbline/ptx in $XDG_CACHE_HOME or
  // ~/.cache. A library's name is a hash of its source, the flags and the compiler's version. Its
  // source is stored next to it. Files never change and may be deleted at any time.
  std::filesystem::path cache;
  // A folder of libraries from compile_ahead(), searched first; a library found there needs no
  // compiler. Empty: none.
  std::filesystem::path prebuilt;
};

// Returns the name of a PTX text in messages and libraries: its hash, "0123456789abcdef.ptx".
std::string text_name(std::string_view text);

// Compiles one entry into the folder `into`, which can then be CompileOptions::prebuilt. Does
// nothing if the library exists.
tl::expected<void, std::string> compile_ahead(const Module&, std::string_view entry,
                                              const std::string& name, const Options&,
                                              const std::filesystem::path& into);

// Returns the folder of CompileOptions::cache or its default. Creates the folder if it is missing.
tl::expected<std::filesystem::path, std::string> cache_folder(const CompileOptions&);

// Returns the complete C++ source: translated/machine.h, numbers.h and thread.h as one text, then
// the translation, with #line directives that refer to the PTX file `name`.
std::string full_source(const Translation&, std::string_view name);

// Translates, compiles and loads one entry of a module. `name` ("module.ptx") appears in messages.
// An error names the PTX line or the compiler's failure, and a remedy.
tl::expected<Kernel, std::string> compile(const Module&, std::string_view entry,
                                          const std::string& name, const Options&,
                                          const CompileOptions&);

}  // namespace plumbline::ptx
