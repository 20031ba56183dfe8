// Finds the program that serves a provider: plumbline-worker for shared libraries, a Python
// interpreter with plumbline_worker.py for Python files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/provider/client/worker.h"

namespace plumbline {

// Return the interpreter and the worker program for Python files, by the rules of find_launch.
Result<std::filesystem::path> find_python();
Result<std::filesystem::path> find_python_worker();

// Returns true if this program is not installed and its source tree has the scripts of ci/.
bool is_in_checkout();

struct Launch {
  std::vector<std::string> command;  // program and arguments
  std::string provider;              // absolute path if the file exists, otherwise as the user
                                     // wrote it
  std::string options;
};

// Splits "path/to/lib.so:options" or "path/to/file.py:options" at the first ':' after ".so" or
// ".py". Without such a suffix (providers of other workers) it splits at the first ':'.
std::pair<std::string, std::string> split_provider(const std::string& provider);

// Search order for the worker of shared libraries: options.executable, plumbline-worker next to
// this program, then in ../libexec/plumbline, then PLUMBLINE_WORKER. For Python files (unless
// options.executable is set):
//   interpreter   PLUMBLINE_PYTHON, then .venv/bin/python of PLUMBLINE_HOME, of ../share/plumbline
//                 and of the source directory, then python3 on the PATH
//   worker        PLUMBLINE_PYTHON_WORKER (path of plumbline_worker.py), then
//                 ../lib/plumbline/python from this program's folder, then lib/plumbline/python in
//                 the build directory
// The provider's file is options.provider or, unless options.executable is set, the bundled
// provider of that name (bundled_providers.h). Python files are also found next to
// plumbline_worker.py. A missing file is an error that lists the bundled names.
Result<Launch> find_launch(const WorkerOptions& options);

}  // namespace plumbline
