// Which program serves a provider, and the command line that starts it. It is plumbline-worker for
// shared libraries, and a Python interpreter with plumbline_worker.py for Python files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

// The interpreter and the worker program for Python files, found as find_launch says.
Result<std::filesystem::path> find_python();
Result<std::filesystem::path> find_python_worker();

// True if this program runs in the source tree that it was built from, whose ci/ has scripts.
bool is_in_checkout();

struct Launch {
  std::vector<std::string> command;  // program and arguments
  std::string provider;              // path where the file exists, else as the user wrote it
  std::string options;
};

// "path/to/lib.so:options" or "path/to/file.py:options": path and options, cut at the first ':'
// behind ".so" or ".py", or at the first of all where there is neither (providers of other
// workers).
std::pair<std::string, std::string> split_provider(const std::string& provider);

// Shared libraries: options.executable, else plumbline-worker beside this program, then in
// ../libexec/plumbline, then PLUMBLINE_WORKER. Python files (unless options.executable is given):
//   interpreter   PLUMBLINE_PYTHON, else .venv/bin/python of PLUMBLINE_HOME, of ../share/plumbline
//                 or of the source directory, else python3 on the PATH
//   worker        PLUMBLINE_PYTHON_WORKER (path of plumbline_worker.py), else
//                 ../lib/plumbline/python beside this program's folder, else that of the build
//                 directory
// The provider's file is the one named, else, unless options.executable is given, the bundled
// provider of that name (bundled_providers.h), for a Python file also one beside
// plumbline_worker.py; one that is none is an error that names those there are.
Result<Launch> find_launch(const WorkerOptions& options);

}  // namespace plumbline
