// Adds the global options, parses the command line, and prints text or the JSON envelope.
#include "harness/cli/program.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "harness/base/floating_point_state.h"
#include "harness/base/harness_failure.h"
#include "harness/cli/command_end.h"
#include "harness/cli/envelope.h"
#include "harness/cli/outputs.h"
#include "harness/cli/settings.h"
#include "harness/cli/sigbus.h"
#include "harness/cli/terminal.h"
#include "harness/judge/exit_code.h"
#include "harness/reference/blas_threads.h"

namespace plumbline::cli {
namespace {

int run_commands(int argc, const char* const* argv, const ProgramText& text,
                 const std::function<void(const CommandLine& app, int& exit_code)>& add) try {
  const CommandLine app{text.description, "plumbline"};
  SettingsOptions settings;
  ColourOption colour;
  app.add_global([&](Command program) {
    settings.add_to(program);
    colour.add_to(program);
  });
  app.before_callbacks([&](Command command) {
    colour.use();
    return apply_settings(command, settings);
  });
  app.set_version_flag("--version", text.version);
  app.require_subcommand(1);
  app.footer(text.footer);
  int exit_code = 0;
  add(app, exit_code);
  const auto printed = app.parse(argc, argv);
  if (!printed) return report_errors(printed.error(), exit_usage);
  if (!printed->empty()) {
    envelope().withdraw();  // help and version are texts, not JSON
    std::fputs(printed->c_str(), stdout);
    return exit_fine;
  }
  return exit_code;
} catch (const CommandEnd& end) {
  return report_errors(end.errors, end.exit_code);
} catch (const HarnessFailure& failure) {
  return report_errors(failure.errors(), exit_infrastructure);
} catch (const std::filesystem::filesystem_error& error) {
  const Error inaccessible{error.path1().string(), 0, error.code().message(),
                           "name a file or folder that can exist and that this user can access"};
  return report_errors({shortage_of(error).value_or(inaccessible)}, exit_infrastructure);
} catch (const std::exception& error) {
  if (std::ferror(stdout) != 0) return exit_infrastructure;  // finish_stdout() reports the loss
  const Error bug{"", 0, std::string("internal error: ") + error.what(),
                  "this is a bug in plumbline; report the command and this text"};
  return report_errors({shortage_of(error).value_or(bug)}, exit_infrastructure);
}

}  // namespace

int run_program(int argc, const char* const* argv, const ProgramText& text,
                const std::function<void(const CommandLine& app, int& exit_code)>& add) {
  install_sigbus_handler();
  end_blas_threads();
  // Sets the usual floating-point state, which a library may have changed before main(). Threads
  // inherit it.
  const UsualFloatingPoint state;
  Envelope& answer = envelope();
  answer.read_arguments(argc, argv);
  const int code = run_commands(argc, argv, text, add);
  if (answer.is_requested()) std::fputs(answer.text(code).c_str(), stdout);
  return finish_stdout(code);
}

int end_program(int code) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return code;
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace plumbline::cli
