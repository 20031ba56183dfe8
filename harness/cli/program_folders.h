// The folders of this program's files. They are relative to the executable, so that an installation
// can be moved.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// Returns the directory of this program's suites and reviewed text: <exe>/../share/plumbline if it
// is installed, otherwise the source tree. PLUMBLINE_HOME overrides both.
std::filesystem::path home_directory();

// Returns <exe>/../lib/plumbline: the providers that come with plumbline, and the resource reports
// of their kernels.
std::filesystem::path library_directory();

// Returns <exe>/../share/plumbline/templates, in an installation and in a build tree: the files
// that `plumbline init` writes.
std::filesystem::path template_directory();

// Adds --cmake-dir, --include-dir and --cudart-dir.
void add_folder_flags(Command program);

// Returns "plumbline 0.1.0 (judge 4, reference 5, schema 13)", and the commit of the build if it is
// known.
std::string version_line();

}  // namespace plumbline::cli
