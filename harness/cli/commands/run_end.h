// The end of a run: checks what is stored, and reports what is left.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/cli/progress.h"
#include "harness/reference/reference_library.h"
#include "harness/run/run_session.h"

namespace plumbline::cli {

// Opens the file again and counts the run's rows, because a file that was damaged while open may
// have accepted every write. If rows are missing, the session is not finished, and an error is
// returned.
Result<void> check_stored(const std::filesystem::path& database, RunSession& session);

// Returns "45 of 266 cases are stored; the same command with --resume measures the rest".
std::string resume_remedy(const RunSession& session, const std::filesystem::path& database);

// Prints how many references the CPU computed because a GPU refused them. The results are right,
// but took longer. `library` may be null.
void print_cpu_references(const ReferenceLibrary* library);

// Prints the processes that this run ended because they outlived the worker that started them.
void print_ended_orphans();

// Advances the progress. Asks the run to stop if stdout is a pipe without a reader.
void step_unless_stdout_closed(Progress& progress);

}  // namespace plumbline::cli
