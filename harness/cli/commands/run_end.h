// The end of a run: what is stored of it, and what is left.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/cli/progress.h"
#include "harness/reference/reference_library.h"
#include "harness/run/run_session.h"

namespace plumbline::cli {

// Opens the file anew and reads the run's rows, because a file that was damaged while it was open
// may have taken every write. If it does not hold all that the session
// measured, the session is not finished, and this is an error.
Result<void> check_stored(const std::filesystem::path& database, RunSession& session);

// "45 of 266 cases are stored; the same command with --resume measures the rest"
std::string resume_remedy(const RunSession& session, const std::filesystem::path& database);

// Prints how many references a GPU refused, so that the CPU computed them: the run is right, and
// took longer than it needs to. `library` may be null.
void tell_references_on_the_cpu(const ReferenceLibrary* library);

// Prints which processes outlived the worker that started them; they were ended.
void tell_ended_orphans();

// A step of the progress. Asks the run to stop if stdout is a pipe that nobody reads any more.
void step_while_read(Progress& progress);

}  // namespace plumbline::cli
