// plumbline_gate_simulation prints the figures of evidence/nights.md, "Simulation".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "simulation.h"

namespace {

using namespace plumbline;
using namespace plumbline::testing;

constexpr const char* help =
    "plumbline_gate_simulation: false alerts of the time gate on noise, and its power\n"
    "\n"
    "  --series N   series of each noise model (10000)\n"
    "  --nights N   nights; the first 10 judge nothing and do not count (100)\n"
    "  --fresh N    fresh processes asked of a candidate (what a night of N series takes)\n"
    "  --seed N     of all random numbers (1)\n"
    "  --noise M    one model alone: white, ar1, spikes, bimodal, skewed, drift\n"
    "  --power N    series of each step of the power table, 0 for none (2000)\n"
    "  --write DIR  writes series of white noise for other programs, one a line, with steps\n"
    "               from night 41 on: step_0.csv, step_2.csv, step_3.csv, ...; no table\n"
    "\n"
    "Exit code 1 where a model has more than 0.1 confirmed false alerts a night, scaled to\n"
    "10,000 series.\n"
    "\n"
    "Examples:\n"
    "  plumbline_gate_simulation\n"
    "  plumbline_gate_simulation --series 1000 --seed 7\n";

constexpr double budget = 0.1, series_of_budget = 10'000;

struct Arguments {
  std::string write;           // a folder for series, instead of tables
  std::optional<Noise> noise;  // nullopt: all
  SimulationOptions simulation;
  int power_series = 2000;
};

[[noreturn]] void refuse(std::string_view message) {
  fmt::print(stderr, "plumbline_gate_simulation: {}\n  remedy: see --help\n", message);
  std::exit(2);
}

long long whole_number(std::string_view name, const char* text, long long least) {
  long long value = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || rest != end || value < least || value > 1'000'000'000)
    refuse(fmt::format("{} {}: a whole number from {} to 1000000000 is needed", name, text, least));
  return value;
}

Arguments read(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      fmt::print("{}", help);
      std::exit(0);
    }
    if (i + 1 == argc) refuse(fmt::format("{}: unknown, or without a value", name));
    const char* value = argv[++i];
    if (name == "--series") {
      result.simulation.series = static_cast<int>(whole_number(name, value, 5));
    } else if (name == "--nights") {
      result.simulation.nights = static_cast<int>(whole_number(name, value, 11));
    } else if (name == "--fresh") {
      result.simulation.fresh = static_cast<int>(whole_number(name, value, 1));
    } else if (name == "--seed") {
      result.simulation.seed = static_cast<std::uint64_t>(whole_number(name, value, 0));
    } else if (name == "--noise") {
      result.noise = parse<Noise>(value);
      if (!result.noise) refuse(fmt::format("--noise {}: no such model", value));
    } else if (name == "--write") {
      result.write = value;
    } else if (name == "--power") {
      result.power_series = static_cast<int>(whole_number(name, value, 0));
    } else {
      refuse(fmt::format("unknown option {}", name));
    }
  }
  return result;
}

bool print_false_alerts(const Arguments& arguments) {
  const auto& options = arguments.simulation;
  fmt::print("A night of {} series without a change (mean of {} nights)\n\n", options.series,
             options.nights - static_cast<int>(min_nights));
  fmt::print("{:<9}{:>10}{:>10}{:>10}{:>9}{:>9}{:>9}{:>10}\n", "noise", "screened", "disagree",
             "confirmed", "slower", "faster", "drifted", "suspect");
  bool fine = true;
  for (const Noise noise : all<Noise>()) {
    if (arguments.noise && *arguments.noise != noise) continue;
    const FalseAlerts alerts = false_alerts(noise, options);
    fmt::print("{:<9}{:>10.2f}{:>10.3f}{:>10.4f}{:>9.4f}{:>9.4f}{:>9.4f}{:>8.1f} %\n", name(noise),
               alerts.screened, alerts.disagree, alerts.confirmed(), alerts.slower, alerts.faster,
               alerts.drifted, 100 * alerts.suspect_nights);
    std::fflush(stdout);
    fine = fine && alerts.confirmed() * series_of_budget / options.series <= budget;
  }
  return fine;
}

void print_power(const Arguments& arguments) {
  SimulationOptions options = arguments.simulation;
  if (options.fresh == 0) options.fresh = fresh_processes(static_cast<std::size_t>(options.series));
  options.series = arguments.power_series;
  fmt::print("\nShare of {} series with a step found and confirmed, {} fresh processes\n\n",
             options.series, options.fresh);
  fmt::print("{:<9}{:>6}{:>10}{:>10}{:>10}{:>10}\n", "noise", "sigma", "night 1", "night 3",
             "night 7", "night 14");
  for (const Noise noise : {Noise::white, Noise::ar1}) {
    if (arguments.noise && *arguments.noise != noise) continue;
    for (const int sigmas : {2, 3, 5, 10}) {
      const auto found = power(noise, sigmas, options).found;
      fmt::print("{:<9}{:>6}{:>8.1f} %{:>8.1f} %{:>8.1f} %{:>8.1f} %\n", name(noise), sigmas,
                 100 * found[0], 100 * found[2], 100 * found[6], 100 * found[13]);
      std::fflush(stdout);
    }
  }
}

int write_series(const Arguments& arguments) {
  for (const int sigmas : {0, 2, 3, 5, 10}) {
    const std::string path = fmt::format("{}/step_{}.csv", arguments.write, sigmas);
    std::ofstream out(path);
    out << "night 1, night 2, ...\n";
    for (const auto& times : times_of(Noise::white, sigmas, arguments.simulation))
      out << fmt::format("{:.9g}\n", fmt::join(times, ","));
    if (!out.flush()) refuse(fmt::format("{} cannot be written", path));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = read(argc, argv);
  if (!arguments.write.empty()) return write_series(arguments);
  const bool fine = print_false_alerts(arguments);
  if (arguments.power_series > 0) print_power(arguments);
  return fine ? 0 : 1;
}
