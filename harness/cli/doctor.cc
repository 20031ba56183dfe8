// plumbline doctor: is everything there that a run needs? Each line says what was looked at and what to do if it is missing.
#include <fmt/color.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "harness/cli/commands.h"
#include "harness/cli/session.h"
#include "harness/provider/default_providers.h"

namespace plumbline::cli {
namespace {

struct Finding {
  std::string what;
  bool good = false;
  bool needed = true;  // false: worth knowing, not a fault
  std::string detail;
};

Finding processor() {
  const bool good = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return {"processor", good, true,
          good ? fmt::format("x86-64-v3, {} threads", std::thread::hardware_concurrency())
               : "no AVX2 and FMA: the CPU kernels refuse to run here"};
}

Finding reviewed_text(const ProviderOptions& options) {
  const auto text = options.reviewed_text();
  return {"contracts", text.has_value(), true,
          text ? fmt::format("{} contracts, {} support entries", text->contracts.contracts.size(), text->support.entries.size())
               : to_string(text.error())};
}

std::vector<Finding> providers(const ProviderOptions& options) {
  std::vector<Finding> findings;
  for (const auto& library : options.libraries()) {
    MeasureOptions measure;
    measure.providers = {library};
    const auto found = discover(measure);
    findings.push_back({"provider", found.has_value(), true,
                        found ? fmt::format("{} {}: {}", found->front().hello.provider, found->front().hello.version,
                                            fmt::join(found->front().hello.kernels, ", "))
                              : to_string(found.error())});
  }
  return findings;
}

Finding database(const DatabaseOption& option) {
  if (!std::filesystem::exists(option.path)) return {"database", true, false, fmt::format("{} does not exist yet", option.path.string())};
  auto store = option.open(true);
  if (!store) return {"database", false, true, to_string(store.error())};
  auto runs = (*store)->runs(0);
  return {"database", runs.has_value(), true,
          runs ? fmt::format("{}: {} runs", option.path.string(), runs->size()) : to_string(runs.error())};
}

Finding gpu() {
  const bool there = has_cuda_device();
  return {"GPU", there, false,
          there ? "a CUDA device is there"
                : "no /dev/nvidiactl with a /dev/nvidia0: kernels of cuda are not loaded, those of emulated stand in"};
}

Finding reference() {
  const auto library = ReferenceOption{}.open();
  return {"reference", true, false, *library != nullptr ? fmt::format("on {}", (*library)->device_name()) : "on the CPU"};
}

int doctor(const ProviderOptions& provider_options, const DatabaseOption& database_option, const std::string& format) {
  std::vector<Finding> findings{processor(), reviewed_text(provider_options)};
  for (auto& finding : providers(provider_options)) findings.push_back(std::move(finding));
  findings.push_back(database(database_option));
  findings.push_back(gpu());
  findings.push_back(reference());

  bool fine = true;
  nlohmann::ordered_json json = nlohmann::json::array();
  const Style style = output_style();
  for (const auto& finding : findings) {
    fine = fine && (finding.good || !finding.needed);
    const char* mark = finding.good ? "ok" : finding.needed ? "MISSING" : "-";
    json.push_back({{"what", finding.what}, {"good", finding.good}, {"needed", finding.needed}, {"detail", finding.detail}});
    if (format == "json") continue;
    const auto colour = finding.good ? fmt::terminal_color::green : finding.needed ? fmt::terminal_color::red : fmt::terminal_color::white;
    const auto label = style.colour ? fmt::format(fmt::fg(colour), "{:8}", mark) : fmt::format("{:8}", mark);
    fmt::print("{}{:11} {}\n", label, finding.what, finding.detail);
  }
  if (format == "json") fmt::print("{}\n", json.dump(1));
  return fine ? exit_fine : exit_infrastructure;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("doctor", "Check what a run needs: processor, providers, contracts, database");
  auto provider_options = std::make_shared<ProviderOptions>();
  auto database_option = std::make_shared<DatabaseOption>();
  auto format = std::make_shared<std::string>("text");
  provider_options->add_to(*command);
  database_option->add_to(*command);
  command->add_option("--format", *format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  command->footer("Example:\n  plumbline doctor --provider ./libmine.so");
  command->callback([=, &exit_code] { exit_code = doctor(*provider_options, *database_option, *format); });
}

}  // namespace plumbline::cli
