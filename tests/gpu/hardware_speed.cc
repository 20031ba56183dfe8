// Times the CUDA kernels on this machine's GPU and measures the GPU's limits in the same run.
// Writes a report in Markdown, and the figures as TOML (evidence/gpu.md has the format). A
// measurement, not a test: the program fails if a kernel fails, but not if a kernel is slow. Exit
// codes: 0 measured, 1 a kernel failed, 2 usage, 4 no GPU (1 if PLUMBLINE_REQUIRE_GPU=1).
#include <dlfcn.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "kernels/attention/instances.h"
#include "tests/gpu/device_speed.h"
#include "tests/gpu/hardware_mma.h"
#include "tests/gpu/kernel_call.h"
#include "tests/gpu/speed_report.h"
#include "tests/gpu/speed_shapes.h"
#include "tests/need_gpu.h"

namespace plumbline::testing {
namespace {

constexpr int exit_fine = 0, exit_failure = 1, exit_usage = 2, exit_no_gpu = 4;

struct Options {
  std::filesystem::path library, toml;
  bool quick = false, only_gpu = false;
};

plumbline_get_provider_function load(const std::filesystem::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr
                            : reinterpret_cast<plumbline_get_provider_function>(
                                  dlsym(library, "plumbline_get_provider"));
}

struct Variant {
  std::string kernel, options;
};

// Returns every compiled tile of prefill_mma for the problem, by name and option.
std::vector<Variant> prefill_mma_variants(const Problem& problem) {
  std::vector<Variant> variants;
  for (const auto& instances :
       {attention::prefill_mma_fp16_instances(), attention::prefill_mma_bf16_instances(),
        attention::prefill_mma_tf32_instances()}) {
    for (const attention::Instance& instance : instances) {
      if (instance.dtype != static_cast<std::uint32_t>(problem.dtype) ||
          instance.head_dim != problem.head_dim_qk)
        continue;
      variants.push_back(
          {instance.accumulator == PLUMBLINE_F16 ? "prefill_mma_acc16" : "prefill_mma",
           fmt::format("tile={}x{}", instance.tile_q, instance.tile_kv)});
    }
  }
  return variants;
}

class Measurement {
 public:
  Measurement(plumbline_get_provider_function get, bool quick) : get_(get) {
    if (quick) times_.warm_up = 1, times_.max_runs = times_.min_runs = 3, times_.budget_s = 0.3;
  }

  void limits() {
    constexpr std::uint64_t copied = std::uint64_t{1} << 30;
    report_.limits = {{"copy", copy_rate(copied, times_)},
                      {"mma_f16", peak_rate(Peak::mma_f16, times_)},
                      {"mma_bf16", peak_rate(Peak::mma_bf16, times_)},
                      {"mma_tf32", peak_rate(Peak::mma_tf32, times_)},
                      {"fma_f32", peak_rate(Peak::fma_f32, times_)}};
  }

  void decode() {
    const Problem problem = story_s4();
    std::vector<Variant> variants{{"decode_mma", ""}, {"decode_simt", ""}};
    for (auto& v : prefill_mma_variants(problem)) variants.push_back(std::move(v));
    variants.insert(variants.end(), {{"prefill_simt", ""}, {"naive", ""}});
    for (const Variant& v : variants) measure("s4_decode", v, problem, bytes_once(problem), "copy");
  }

  void prefill() {
    constexpr std::pair<DType, const char*> dtypes[] = {
        {DType::f16, "mma_f16"}, {DType::bf16, "mma_bf16"}, {DType::f32, "mma_tf32"}};
    for (const auto& [dtype, peak] : dtypes) {
      for (const Mask mask : {Mask::none, Mask::causal_bottom_right}) {
        const Problem problem = prefill_shape(dtype, mask);
        const std::string shape = mask == Mask::none ? "prefill" : "prefill_causal";
        for (const Variant& v : prefill_mma_variants(problem))
          measure(shape, v, problem, operations(problem), peak);
        if (dtype != DType::f16) continue;
        for (const char* kernel : {"prefill_simt", "naive"})
          measure(shape, {kernel, ""}, problem, operations(problem), "fma_f32");
      }
    }
  }

  const SpeedReport& report() const { return report_; }

 private:
  void measure(const std::string& shape, const Variant& variant, const Problem& problem,
               double work, const std::string& limit) {
    MeasuredKernel row{shape,
                       variant.kernel,
                       variant.options,
                       std::string(name(problem.dtype)),
                       work,
                       limit,
                       {},
                       {},
                       "",
                       false};
    const plumbline_provider* provider = get_(PLUMBLINE_ABI_VERSION, variant.options.c_str());
    if (provider == nullptr) {
      row.error = "the library does not serve this version of the interface";
    } else {
      KernelCall call(*provider, variant.kernel, problem);
      row.error = call.error();
      row.unsupported = call.unsupported();
      if (row.error.empty()) {
        row.times = time_runs([&] { return call.run(); }, times_);
        row.error = row.times.error.empty() ? call.synchronize() : row.times.error;
        row.description = call.describe();
      }
    }
    fmt::print(stderr, "{} {} {}: {}\n", shape, variant.kernel, variant.options,
               row.error.empty() ? fmt::format("{:.4f} ms", row.times.median_ms) : row.error);
    report_.kernels.push_back(std::move(row));
  }

  plumbline_get_provider_function get_;
  TimeOptions times_;
  SpeedReport report_;
};

int measure(const Options& options) {
  const Gpu gpu = find_gpu();
  if (!gpu.missing.empty()) {
    fmt::print(stderr, "hardware_speed: no GPU: {} (toolkit {})\n", gpu.missing, gpu.toolkit);
    return test::gpu_is_required() && !options.only_gpu ? exit_failure : exit_no_gpu;
  }
  if (options.only_gpu) {
    fmt::print("{}\n{}\n{}\n{}\n{}\n", gpu.name, gpu.arch, gpu.driver, gpu.toolkit, bus_id());
    return exit_fine;
  }
  const plumbline_get_provider_function get = load(options.library);
  if (get == nullptr) {
    fmt::print(stderr, "hardware_speed: {}: {}\n", options.library.string(), dlerror());
    return exit_usage;
  }
  Measurement measurement(get, options.quick);
  measurement.limits();
  measurement.decode();
  measurement.prefill();
  const SpeedReport& report = measurement.report();
  fmt::print("{}, driver {}, toolkit {}\n\n{}", gpu.name + " (" + gpu.arch + ")", gpu.driver,
             gpu.toolkit, markdown(report));
  if (!options.toml.empty()) {
    std::ofstream file(options.toml);
    file << toml(report);
    file.close();
    if (!file) {
      fmt::print(stderr, "hardware_speed: cannot write {}\n", options.toml.string());
      return exit_usage;
    }
  }
  const std::vector<std::string> failures = failed(report);
  for (const std::string& failure : failures) fmt::print(stderr, "failed: {}\n", failure);
  return failures.empty() ? exit_fine : exit_failure;
}

}  // namespace
}  // namespace plumbline::testing

int main(int count, char** arguments) {
  using plumbline::testing::Options;
  Options options;
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  options.library = program / ".." / ".." / "lib" / "plumbline" / "plumbline_cuda.so";
  CLI::App app{
      "Times the CUDA kernels on the GPU at hand, as shares of its bandwidth and matrix peak"};
  app.add_option("--library", options.library, "Provider library of the kernels")
      ->capture_default_str();
  app.add_option("--toml", options.toml, "Write the figures here");
  app.add_flag("--quick", options.quick, "Three runs each: to see that everything runs");
  app.add_flag("--gpu", options.only_gpu,
               "Only print name, architecture, driver, toolkit and bus id, a line each");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : plumbline::testing::exit_usage;
  }
  return plumbline::testing::measure(options);
}
