// plumbline doctor: checks that everything a run needs is present. Each line names what was checked
// and, if it is missing, the remedy.
#include <fmt/color.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/errors.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/cli/settings.h"
#include "harness/cli/subprocess.h"
#include "harness/contract/reviewed_text.h"
#include "harness/provider/client/bundled_providers.h"
#include "harness/provider/client/default_providers.h"
#include "harness/provider/client/launch.h"
#include "harness/report/format.h"
#include "harness/report/json_value.h"

namespace plumbline::cli {
namespace {

struct Finding {
  std::string what;
  bool good = false;
  bool needed = true;  // false: for information, not a fault
  std::string detail;
};

Finding processor() {
  const bool good = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  return {"processor", good, true,
          good ? fmt::format("x86-64-v3, {} threads", std::thread::hardware_concurrency())
               : "no AVX2, FMA or BMI2: the CPU kernels refuse to run here"};
}

Finding settings() {
  const SettingsInUse& in_use = settings_in_use();
  const std::string sentence = in_use.sentence();
  const std::string file = in_use.file.empty()
                               ? fmt::format("no {} here or above", settings_file_name)
                               : std::filesystem::absolute(in_use.file).lexically_normal().string();
  return {"settings", true, false, sentence.empty() ? file : file + "; " + sentence};
}

Finding reviewed_text(const ProviderOptions& options) {
  const auto text = options.reviewed_text();
  return {"contracts", text.has_value(), true,
          text ? fmt::format("{} contracts, {} support entries", text->contracts.contracts.size(),
                             text->support.entries.size())
               : to_string(text.error())};
}

// Returns "cpu 0.1.0: cpu/flash, cpu/naive and 7 more", and the devices or why there are none.
std::string kernels_of(const Hello& hello) {
  constexpr std::size_t most = 4;
  const std::vector<std::string> first(
      hello.kernels.begin(), hello.kernels.begin() + std::min(most, hello.kernels.size()));
  const std::size_t more = hello.kernels.size() - first.size();
  return fmt::format(
      "{} {}: {}{}{}{}", hello.provider, hello.version, fmt::join(first, ", "),
      more > 0 ? fmt::format(" and {} more", more) : "",
      hello.devices.empty() ? "" : fmt::format(" (on {})", fmt::join(hello.devices, ", ")),
      hello.no_device.empty() ? "" : fmt::format(" (no device: {})", hello.no_device));
}

Finding provider(const std::string& what, const std::string& named, bool needed) {
  MeasureOptions measure;
  measure.providers = {named};
  const auto found = discover(measure);
  return {what, found.has_value(), needed,
          found ? kernels_of(found->front().hello) : error_text(found.error(), 0)};
}

// The interpreter of Python kernels, and the packages that they need.
struct Python {
  Finding finding;
  bool serves = false;  // numpy is present, so kernels can run
  std::string interpreter = {};
};

// Returns a finding if another project's package is called plumbline (plumbline_command/owners.py).
// Returns nullopt if that module is not installed for the interpreter, as in a checkout.
std::optional<Finding> other_owner(const std::string& interpreter) {
  if (interpreter.empty()) return std::nullopt;
  const auto said =
      output_of(shell_quoted(interpreter) + " -m plumbline_command.owners 2>/dev/null");
  if (!said || !said->is_success || said->text.empty()) return std::nullopt;
  return Finding{"packages", false, true, said->text};
}

Python no_python(const std::string& why) { return {{"Python", false, false, why}}; }

Python python() {
  const auto worker = find_python_worker();
  if (!worker) return no_python(error_text(worker.error(), 0));
  if (!std::filesystem::exists(worker->parent_path() / "plumbline_python_support.so")) {
    return no_python(fmt::format("plumbline_python_support.so is missing beside {}\n  remedy: {}",
                                 worker->string(),
                                 is_in_checkout() ? "run ci/quickstart.sh (target programs)"
                                                  : "install plumbline again, all of it"));
  }
  const auto interpreter = find_python();
  if (!interpreter) return no_python(error_text(interpreter.error(), 0));
  const std::string program =
      "import sys, importlib\nprint(sys.version.split()[0], end='')\n"
      "for name in ('numpy', 'ml_dtypes'):\n"
      "    try:\n        print(',', name, importlib.import_module(name).__version__, end='')\n"
      "    except Exception:\n        print(',', name, 'absent', end='')\n";
  const auto said =
      output_of(shell_quoted(interpreter->string()) + " -c " + shell_quoted(program) + " 2>&1");
  if (!said || !said->is_success) {
    return no_python(
        fmt::format("{} cannot be used: {}\n  remedy: set PLUMBLINE_PYTHON to a "
                    "Python interpreter of 3.9 or later",
                    interpreter->string(),
                    !said                ? "no process can be started"
                    : said->text.empty() ? "it ended with an error"
                                         : said->text));
  }
  const std::string detail = fmt::format("{}: {}", interpreter->string(), said->text);
  const bool is_whole = said->text.find(" absent") == std::string::npos;
  if (is_whole) return {{"Python", true, false, detail}, true, interpreter->string()};
  const std::string checkout =
      is_in_checkout() ? "; in this checkout `ci/setup.sh --numpy` installs them" : "";
  return {
      {"Python", false, false,
       fmt::format("{}\n  remedy: {} -m pip install numpy ml_dtypes, or set PLUMBLINE_PYTHON to "
                   "an interpreter that has them{}",
                   detail, interpreter->string(), checkout)},
      said->text.find("numpy absent") == std::string::npos,
      interpreter->string()};
}

// `provider` is a file, or the name of one that comes with plumbline.
bool is_python_file(const std::string& provider) {
  const std::string word = split_provider(provider).first;
  const auto bundled = find_bundled_provider(word, library_directory());
  return (bundled ? bundled->string() : word).ends_with(".py");
}

// A provider that comes with plumbline and that a run does not load.
struct Bundled {
  std::string name;
  Finding finding;
  std::string lack;  // why it cannot be used; "" if it can
};

Bundled bundled(const BundledProvider& asked, const std::string& interpreter) {
  MeasureOptions measure;
  measure.providers = {asked.path.string()};
  const auto found = discover(measure);
  Bundled result{asked.name, {"bundled", false, false, ""}, ""};
  if (!found) {
    result.lack = error_text(found.error(), 0);
    return result;
  }
  const Hello& hello = found->front().hello;
  const std::string what = kernels_of(hello);
  if (hello.kernels.empty()) {
    // "torch is not installed for /usr/bin/python3"
    const std::size_t package = hello.version.find(" is not installed for ");
    result.lack = hello.version;
    if (package != std::string::npos && !interpreter.empty()) {
      result.lack += fmt::format("\n  remedy: {} -m pip install {}", interpreter,
                                 hello.version.substr(0, package));
    }
  } else if (what.find(" absent") != std::string::npos ||
             what.find(" (no device: ") != std::string::npos) {
    result.lack = what;
  } else {
    result.finding.good = true;
    result.finding.detail = fmt::format("--provider {}: {}", asked.name, what);
  }
  return result;
}

// Joins the findings of all providers that lack the same thing.
std::vector<Finding> grouped(const std::vector<Bundled>& all) {
  std::vector<Finding> findings;
  std::vector<std::pair<std::string, std::vector<std::string>>> lacks;
  for (const Bundled& one : all) {
    if (one.lack.empty()) {
      findings.push_back(one.finding);
      continue;
    }
    auto at = std::ranges::find_if(lacks, [&](const auto& lack) { return lack.first == one.lack; });
    if (at == lacks.end()) at = lacks.insert(at, {one.lack, {}});
    at->second.push_back(one.name);
  }
  for (const auto& [lack, names] : lacks) {
    findings.push_back(
        {"bundled", false, false,
         fmt::format("--provider {} cannot be used: {}", fmt::join(names, ", "), lack)});
  }
  return findings;
}

// Runs the functions on as many threads as there are processors, because importing a framework
// takes seconds.
void run_concurrently(const std::vector<std::function<void()>>& questions) {
  std::atomic<std::size_t> next = 0;
  const auto ask = [&] {
    for (std::size_t i = next++; i < questions.size(); i = next++) questions[i]();
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(ask);
  ask();
  for (auto& other : others) other.join();
}

// The providers that a run loads must work. Other bundled providers may lack a package or a GPU.
// They are listed with what they lack or, with `quick`, as not checked.
std::vector<Finding> providers(const ProviderOptions& options, const Python& python, bool quick) {
  const auto loaded = options.libraries();
  const std::string needs_python = "cannot be used without Python (above)";
  std::vector<std::function<void()>> questions;
  std::vector<Finding> findings(loaded.size());
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (is_python_file(loaded[i]) && !python.serves) {
      findings[i] = {"provider", false, true, loaded[i] + " " + needs_python};
    } else {
      questions.emplace_back([&, i] { findings[i] = provider("provider", loaded[i], true); });
    }
  }
  std::vector<BundledProvider> rest = bundled_providers(library_directory());
  std::erase_if(rest, [&](const BundledProvider& bundled) {
    return std::ranges::find(loaded, bundled.path.string()) != loaded.end();
  });
  std::vector<Bundled> answers(rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    answers[i].name = rest[i].name;
    if (quick) continue;
    if (is_python_file(rest[i].path.string()) && !python.serves) {
      answers[i].lack = "Python (above) cannot run kernels";
    } else {
      questions.emplace_back([&, i] { answers[i] = bundled(rest[i], python.interpreter); });
    }
  }
  run_concurrently(questions);
  if (quick && !rest.empty()) {
    std::vector<std::string> names;
    for (const BundledProvider& one : rest) names.push_back(one.name);
    findings.push_back({"bundled", false, false,
                        fmt::format("not checked (--quick): {}", fmt::join(names, ", "))});
    return findings;
  }
  for (Finding& finding : grouped(answers)) findings.push_back(std::move(finding));
  return findings;
}

Finding database(const DatabaseOption& option) {
  if (!std::filesystem::exists(option.path))
    return {"database", true, false, fmt::format("{} does not exist yet", option.path.string())};
  auto store = option.open(true);
  if (!store) return {"database", false, true, to_string(store.error())};
  auto runs = (*store)->runs(0);
  return {"database", runs.has_value(), true,
          runs ? fmt::format("{}: {} runs", option.path.string(), runs->size())
               : to_string(runs.error())};
}

Finding gpu() {
  const bool there = has_cuda_device();
  return {"GPU", there, false,
          there
              ? "a CUDA device is there"
              : "neither /dev/nvidia0 nor nvidia-smi shows a CUDA device, so the provider cuda is "
                "not loaded; the provider emulated runs the same kernels"};
}

Finding reference() {
  const auto library = ReferenceOption{}.open();
  return {"reference", true, false,
          *library != nullptr ? fmt::format("on {}", (*library)->device_name()) : "on the CPU"};
}

struct DoctorOptions {
  ProviderOptions providers;
  DatabaseOption database;
  std::string format = "text";
  bool quick = false;
};

int doctor(const DoctorOptions& options) {
  const Python python_here = python();
  std::vector<Finding> findings{processor(), settings(), reviewed_text(options.providers),
                                python_here.finding};
  if (auto finding = other_owner(python_here.interpreter)) findings.push_back(std::move(*finding));
  for (auto& finding : providers(options.providers, python_here, options.quick))
    findings.push_back(std::move(finding));
  findings.push_back(database(options.database));
  findings.push_back(gpu());
  findings.push_back(reference());

  bool fine = true;
  Json json = Json::array();
  const Style style = output_style();
  for (const auto& finding : findings) {
    fine = fine && (finding.good || !finding.needed);
    const char* mark = finding.good ? "ok" : finding.needed ? "MISSING" : "-";
    json.push_back({JSON_FIELDS(finding, what, good, needed, detail)});
    if (options.format == "json") continue;
    const auto colour = finding.good     ? fmt::terminal_color::green
                        : finding.needed ? fmt::terminal_color::red
                                         : fmt::terminal_color::white;
    const auto label =
        style.colour ? fmt::format(fmt::fg(colour), "{:8}", mark) : fmt::format("{:8}", mark);
    fmt::print("{}{:11} {}\n", label, finding.what, finding.detail);
  }
  if (options.format == "json")
    print_json(json_text({{"checks", std::move(json)}, {"fine", fine}}));
  return fine ? exit_fine : exit_infrastructure;
}

}  // namespace

void add_doctor(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, doctor, "doctor",
               "Check what a run needs: processor, providers, Python, contracts, database");
  options.providers.add_to(command);
  options.database.add_to(command);
  add_format(command, options.format, {"text", "json"});
  command.add_flag("--quick", options.quick,
                   "Do not check bundled providers that a run does not load, because importing a "
                   "framework takes seconds");
  command.footer(
      "Examples:\n  plumbline doctor --quick\n  plumbline doctor --provider ./libmine.so");
}

}  // namespace plumbline::cli
