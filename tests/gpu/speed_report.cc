// Writes measured times, rates and shares of the GPU's peaks as Markdown and as TOML.
#include "tests/gpu/speed_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumbline::testing {
namespace {

// FlashInfer issue 703 (story S4): times of FlashInfer's kernels on an unnamed GPU.
constexpr double story_on_ms = 1.276, story_off_ms = 1.595;

const MeasuredKernel* find(const SpeedReport& report, const std::string& shape,
                           const std::string& kernel) {
  const auto found =
      std::find_if(report.kernels.begin(), report.kernels.end(), [&](const MeasuredKernel& k) {
        return k.shape == shape && k.kernel == kernel && k.error.empty();
      });
  return found == report.kernels.end() ? nullptr : &*found;
}

// Returns the time without tensor cores divided by the time with them; NaN if one is missing.
double ratio(const SpeedReport& report, const std::string& on, const std::string& off) {
  const MeasuredKernel *a = find(report, "s4_decode", on), *b = find(report, "s4_decode", off);
  if (a == nullptr || b == nullptr) return std::numeric_limits<double>::quiet_NaN();
  return b->times.median_ms / a->times.median_ms;
}

bool is_bytes(const std::string& limit) { return limit == "copy"; }
std::string rate_text(double rate, const std::string& limit) {
  return is_bytes(limit) ? fmt::format("{:.0f} GB/s", rate / 1e9)
                         : fmt::format("{:.1f} TFLOP/s", rate / 1e12);
}

// A KB is 1000 bytes, as in FlashInfer issue 703.
std::string resources(const plumbline_description& d) {
  return fmt::format("{} | {:.2f} | {}", d.registers_per_thread,
                     static_cast<double>(d.shared_memory_bytes) / 1e3, d.stack_bytes_per_thread);
}

std::string row(const SpeedReport& report, const MeasuredKernel& k) {
  const std::string label = k.kernel + (k.options.empty() ? "" : " " + k.options);
  if (!k.error.empty()) {
    return fmt::format("| {} | {} | {} | {}: {} | | | | | |\n", k.shape, label, k.dtype,
                       k.unsupported ? "unsupported" : "FAILED", k.error);
  }
  const double share = share_of(report, k);
  return fmt::format("| {} | {} | {} | {:.4f} ({:.4f} to {:.4f}, {}) | {} | {} | {} |\n", k.shape,
                     label, k.dtype, k.times.median_ms, k.times.min_ms, k.times.max_ms,
                     k.times.runs, rate_text(rate_of(k), k.limit),
                     std::isnan(share) ? "?" : fmt::format("{:.0f} % of {}", 100 * share, k.limit),
                     resources(k.description));
}

std::string ratio_line(const SpeedReport& report, const std::string& on, const std::string& off) {
  const double value = ratio(report, on, off);
  return fmt::format("- {} : {} = {}\n", off, on,
                     std::isnan(value) ? "not measured" : fmt::format("{:.3f}", value));
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("\"\\", at)) != text.npos; at += 2)
    text.insert(at, 1, '\\');
  return "\"" + text + "\"";
}

std::string number(const char* key, double value) {
  return std::isfinite(value) ? fmt::format("{} = {:.6g}\n", key, value) : "";
}

std::string figures(const SpeedReport& report, const MeasuredKernel& k) {
  std::string text =
      fmt::format("\n[[kernel]]\nshape = {}\nkernel = {}\noptions = {}\ndtype = {}\n",
                  quoted(k.shape), quoted(k.kernel), quoted(k.options), quoted(k.dtype));
  if (!k.error.empty())
    return text +
           fmt::format("{} = {}\n", k.unsupported ? "unsupported" : "error", quoted(k.error));
  text += fmt::format("median_ms = {:.6f}\nleast_ms = {:.6f}\nmost_ms = {:.6f}\nruns = {}\n",
                      k.times.median_ms, k.times.min_ms, k.times.max_ms, k.times.runs);
  text += is_bytes(k.limit) ? number("gb_per_s", rate_of(k) / 1e9)
                            : number("tflop_per_s", rate_of(k) / 1e12);
  text += fmt::format("limit = {}\n", quoted(k.limit)) + number("share", share_of(report, k));
  const plumbline_description& d = k.description;
  text += fmt::format("registers = {}\nshared_bytes = {}\nstack_bytes = {}\n",
                      d.registers_per_thread, d.shared_memory_bytes, d.stack_bytes_per_thread);
  return text + fmt::format("tensor_cores = {}\nlaunched = {}\nbuild_id = {}\n",
                            quoted(d.tensor_cores), quoted(d.launched), quoted(d.build_id));
}

}  // namespace

double rate_of(const MeasuredKernel& kernel) {
  return kernel.work / (kernel.times.median_ms / 1e3);
}

double share_of(const SpeedReport& report, const MeasuredKernel& kernel) {
  for (const auto& [name, rate] : report.limits) {
    if (name == kernel.limit && rate.error.empty()) return rate_of(kernel) / rate.per_second;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string markdown(const SpeedReport& report) {
  std::string text =
      "What this GPU does at most, measured in this run:\n\n| limit | rate |\n|---|---|\n";
  for (const auto& [name, rate] : report.limits) {
    text += fmt::format(
        "| {} | {} |\n", name,
        rate.error.empty() ? rate_text(rate.per_second, name) : "FAILED: " + rate.error);
  }
  text +=
      "\n| shape | kernel | dtype | ms, median (least to most, runs) | rate | share | registers | "
      "shared KB | stack bytes |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const MeasuredKernel& k : report.kernels) text += row(report, k);
  text += fmt::format(
      "\nStory S4 (docs/stories.md) is FlashInfer issue 703: decode with tensor cores off and on. "
      "The issue reports the times {} : {} ms = {:.3f}, off : on. The times off : on of this "
      "run:\n\n",
      story_off_ms, story_on_ms, story_off_ms / story_on_ms);
  text += ratio_line(report, "decode_mma", "decode_simt") +
          ratio_line(report, "prefill_mma", "decode_simt");
  text +=
      "\nThe issue's kernels take 182 registers per thread and 69.63 KB of shared memory (on, a "
      "prefill kernel), 66 and 9.22 KB (off).\n";
  return text;
}

std::string toml(const SpeedReport& report) {
  std::string text = "\n[limits]\n";
  for (const auto& [name, rate] : report.limits) {
    if (!rate.error.empty()) continue;
    text += is_bytes(name) ? number((name + "_gb_per_s").c_str(), rate.per_second / 1e9)
                           : number((name + "_tflop_per_s").c_str(), rate.per_second / 1e12);
  }
  text += "\n[s4]\n" +
          number("decode_simt_over_decode_mma", ratio(report, "decode_mma", "decode_simt")) +
          number("decode_simt_over_prefill_mma", ratio(report, "prefill_mma", "decode_simt"));
  for (const MeasuredKernel& k : report.kernels) text += figures(report, k);
  return text;
}

std::vector<std::string> failed(const SpeedReport& report) {
  std::vector<std::string> failures;
  for (const auto& [name, rate] : report.limits) {
    if (!rate.error.empty()) failures.push_back(name + ": " + rate.error);
  }
  for (const MeasuredKernel& k : report.kernels) {
    if (!k.error.empty() && !k.unsupported)
      failures.push_back(k.shape + " " + k.kernel + " " + k.options + ": " + k.error);
  }
  for (const char* kernel : {"decode_mma", "decode_simt"}) {
    if (find(report, "s4_decode", kernel) == nullptr)
      failures.push_back(std::string("s4_decode ") + kernel + " was not measured");
  }
  return failures;
}

}  // namespace plumbline::testing
