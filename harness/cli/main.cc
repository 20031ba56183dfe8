// plumbline: two attention kernels disagree; is it rounding, or is it a bug?
#include <cstdio>
#include <filesystem>

#include "harness/cli/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/outputs.h"
#include "harness/cli/places.h"
#include "harness/cli/session.h"
#include "harness/cli/settings.h"

namespace {

int run(int argc, char** argv) {
  const plumbline::cli::CommandLine app{
      "plumbline: numerical conformance of attention kernels.\n"
      "Runs kernels over a matrix of cases, judges each output against an fp64\n"
      "reference in units of the rounding error the kernel is allowed to make, stores\n"
      "every result and flags regressions.",
      "plumbline"};
  plumbline::cli::SettingsOptions settings;
  plumbline::cli::ColourOption colour;
  app.add_global([&](plumbline::cli::Command program) {
    settings.add_to(program);
    colour.add_to(program);
  });
  app.before_callbacks([&](plumbline::cli::Command command) {
    colour.use();
    return plumbline::cli::apply_settings(command, settings);
  });
  app.set_version_flag("--version", plumbline::cli::version_line());
  plumbline::cli::add_folder_flags(app);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  plumbline run cases/smoke.toml\n"
      "  plumbline run cases/smoke.toml --provider ./libmine.so --junit out/junit.xml\n"
      "  plumbline show latest\n"
      "  plumbline init mine && cd mine && plumbline run\n"
      "Exit codes: 0 fine, 1 failure or regression, 2 usage, 3 infrastructure,\n"
      "4 nothing measured, 5 ambiguous or unconfirmed, 6 not comparable.");

  int exit_code = 0;
  plumbline::cli::add_init(app, exit_code);
  plumbline::cli::add_list(app, exit_code);
  plumbline::cli::add_run(app, exit_code);
  plumbline::cli::add_check(app, exit_code);
  plumbline::cli::add_audit(app, exit_code);
  plumbline::cli::add_judge(app, exit_code);
  plumbline::cli::add_merge(app, exit_code);
  plumbline::cli::add_confirm(app, exit_code);
  plumbline::cli::add_prune(app, exit_code);
  plumbline::cli::add_report(app, exit_code);
  plumbline::cli::add_serve(app, exit_code);
  plumbline::cli::add_show(app, exit_code);
  plumbline::cli::add_compare(app, exit_code);
  plumbline::cli::add_matrix(app, exit_code);
  plumbline::cli::add_night(app, exit_code);
  plumbline::cli::add_reduce(app, exit_code);
  plumbline::cli::add_diff(app, exit_code);
  plumbline::cli::add_history(app, exit_code);
  plumbline::cli::add_bisect(app, exit_code);
  plumbline::cli::add_export(app, exit_code);
  plumbline::cli::add_baseline(app, exit_code);
  plumbline::cli::add_support(app, exit_code);
  plumbline::cli::add_resources(app, exit_code);
  plumbline::cli::add_query(app, exit_code);
  plumbline::cli::add_datasette_metadata(app, exit_code);
  plumbline::cli::add_doctor(app, exit_code);
  plumbline::cli::add_completion(app, exit_code);
  plumbline::cli::add_manual(app, exit_code);

  try {
    const auto text = app.parse(argc, argv);
    if (!text) return plumbline::cli::report_errors(text.error(), plumbline::exit_usage);
    if (!text->empty()) {
      plumbline::cli::envelope().withdraw();  // help and version are texts
      std::fputs(text->c_str(), stdout);
      return plumbline::exit_fine;
    }
  } catch (const std::filesystem::filesystem_error& error) {
    plumbline::cli::envelope().add({{error.path1().string(), 0, error.code().message(),
                                     "name a file or folder that can be there"}});
    std::fprintf(
        stderr,
        "%s: %s\n  remedy: name a file or folder that can be there, and that this user can reach\n",
        error.path1().c_str(), error.code().message().c_str());
    return plumbline::exit_infrastructure;
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return plumbline::exit_infrastructure;  // main says what was lost
    plumbline::cli::envelope().add({{"", 0, std::string("internal error: ") + error.what(), ""}});
    std::fprintf(stderr, "plumbline: internal error: %s\n", error.what());
    return plumbline::exit_infrastructure;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  auto& answer = plumbline::cli::envelope();
  answer.read_arguments(argc, argv);
  const int code = run(argc, argv);
  if (answer.is_asked_for()) std::fputs(answer.text(code).c_str(), stdout);
  return plumbline::cli::finish_stdout(code);
}
