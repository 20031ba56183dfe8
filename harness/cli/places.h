// Where this program's files are: all beside one another, so that an installation can be moved.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// Directory of this program's suites and reviewed text: <exe>/../share/plumbline where installed,
// the source tree where built in one. PLUMBLINE_HOME overrides.
std::filesystem::path home_directory();

// <exe>/../lib/plumbline: the providers that come with plumbline, and the reports of what their
// kernels take.
std::filesystem::path library_directory();

// <exe>/../share/plumbline/templates, installed and in a build tree: what `plumbline init` writes.
std::filesystem::path template_directory();

// --cmake-dir, --include-dir and --cudart-dir.
void add_folder_flags(Command program);

// "plumbline 0.1.0 (judge 4, reference 5, schema 13)", with the commit it was built from where that
// is known.
std::string version_line();

}  // namespace plumbline::cli
