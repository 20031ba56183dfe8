// Extracts the figures of each story from the outcomes and diffs of its suite.
#include "harness/report/stories.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>

#include "harness/problem/problem.h"
#include "harness/report/format.h"
#include "harness/store/stored.h"

namespace plumbline {
namespace {

class Story {
 public:
  Story(const RunReport& report, std::string_view id, std::string_view suite,
        std::string_view title, std::string_view source)
      : report_(report) {
    story_.id = id;
    story_.title = title;
    story_.source = source;
    for (std::size_t i = 0; i < report.outcomes->size(); ++i)
      if ((*report.outcomes)[i].outcome.suite == suite) story_.cases.push_back(i);
    for (std::size_t i = 0; i < report.diffs->size(); ++i)
      if ((*report.diffs)[i].outcome.suite == suite) story_.diffs.push_back(i);
  }

  // Returns the diffs that ran, of one name: the first of `names` that has any.
  std::vector<const DiffOutcome*> diffs(std::initializer_list<std::string_view> names) const {
    std::vector<const DiffOutcome*> found;
    for (const std::string_view name : names) {
      for (const std::size_t place : story_.diffs) {
        const DiffOutcome& diff = (*report_.diffs)[place].outcome;
        if (diff.name == name && diff.status == Status::ok) found.push_back(&diff);
      }
      if (!found.empty()) break;
    }
    return found;
  }
  const DiffOutcome* diff(std::initializer_list<std::string_view> names) const {
    const auto found = diffs(names);
    return found.empty() ? nullptr : found.front();
  }

  template <class Wanted>
  std::vector<const StoredOutcome*> outcomes(const Wanted& wanted) const {
    std::vector<const StoredOutcome*> found;
    for (const std::size_t place : story_.cases)
      if (wanted((*report_.outcomes)[place].outcome)) found.push_back(&(*report_.outcomes)[place]);
    return found;
  }

  void figure(std::string what, std::string theirs, std::string ours) {
    story_.figures.push_back({std::move(what), std::move(theirs), std::move(ours)});
  }
  StoryFigures take() { return std::move(story_); }

 private:
  const RunReport& report_;
  StoryFigures story_;
};

std::string times_text(const DiffOutcome& diff) {
  if (!(diff.time_ns_a > 0 && diff.time_ns_b > 0)) return "";
  return fmt::format("{} and {} ({:+.0f} %)", duration(diff.time_ns_a), duration(diff.time_ns_b),
                     100 * (diff.time_ns_b / diff.time_ns_a - 1));
}

std::string sigmas_text(const DiffOutcome& diff) {
  return fmt::format("at most {} standard deviations of the roundings that both declare",
                     number(diff.max_sigma));
}

// Returns the worst percent of a limit; "" without outcomes.
std::string worst_percent(const std::vector<const StoredOutcome*>& outcomes) {
  if (outcomes.empty()) return "";
  double worst = 0;
  for (const StoredOutcome* stored : outcomes)
    worst = std::max(worst, stored->judgement.percent_of_limit);
  return percent(worst);
}

StoryFigures two_paths(const RunReport& report) {
  Story story(report, "S1", "s1_prefill_vs_decode",
              "All tokens at once against one token on a KV cache", "flash-attention issue 1569");
  const DiffOutcome* scaled =
      story.diff({"flash_attn_prefill_vs_kvcache", "torch_prefill_vs_paged", "outputs_in_16_32"});
  const DiffOutcome* plain = story.diff(
      {"flash_attn_prefill_vs_kvcache", "torch_prefill_vs_paged", "full_size", "last_rows"});
  story.figure("largest difference of the two paths", "0.125",
               scaled == nullptr ? "" : number(scaled->max_abs));
  story.figure("mean difference", "about 1e-5", plain == nullptr ? "" : number(plain->mean_abs));
  story.figure(
      "outputs that are equal bit for bit", "those of most samples, and of some heads of the rest",
      plain == nullptr ? "" : fmt::format("{} of {} heads", plain->heads_bit_equal, plain->heads));
  story.figure("explained by rounding", "argued by hand",
               plain == nullptr ? "" : sigmas_text(*plain));
  return story.take();
}

StoryFigures ragged_bf16(const RunReport& report) {
  Story story(report, "S2", "s2_bf16_ragged", "bf16 and a ragged KV cache", "FlashInfer issue 882");
  const auto of_dtype = [&](DType dtype) {
    return story.outcomes([&](const Outcome& outcome) {
      return outcome.status == Status::ok && outcome.c.problem.dtype == dtype;
    });
  };
  const auto bf16 = of_dtype(DType::bf16);
  const auto outside = [&](double ErrorStatistics::*share) {
    double most = 0;
    for (const StoredOutcome* stored : bf16) most = std::max(most, stored->outcome.errors.*share);
    if (!bf16.empty() && most == 0) return std::string("none of the elements outside");
    return bf16.empty() ? "" : fmt::format("up to {:.2g} % of the elements outside", 100 * most);
  };
  story.figure("bf16 at allclose 1e-3", "fails", outside(&ErrorStatistics::outside_allclose_1e3));
  story.figure("bf16 at allclose 1e-2", "passes", outside(&ErrorStatistics::outside_allclose_1e2));
  story.figure("bf16, share of the limit of its roundings", "none was known", worst_percent(bf16));
  story.figure("fp16, likewise", "none was known", worst_percent(of_dtype(DType::f16)));
  return story.take();
}

// Describes the length from which unpadding is faster; side a of the diffs is the padded path.
std::string crossover_text(const std::vector<const DiffOutcome*>& diffs) {
  std::map<std::int64_t, double> ratios;  // padded / unpadded time, by length
  for (const DiffOutcome* diff : diffs) {
    const auto c = parse_case_id(diff->case_a);
    if (c && diff->time_ns_a > 0 && diff->time_ns_b > 0)
      ratios[c->problem.seq_kv] = diff->time_ns_a / diff->time_ns_b;
  }
  if (ratios.empty()) return "";
  std::int64_t from = 0;  // 0: never faster
  for (const auto& [length, ratio] : ratios) {
    if (ratio <= 1)
      from = 0;
    else if (from == 0)
      from = length;
  }
  const std::string range =
      fmt::format("{} to {} tokens", ratios.begin()->first, ratios.rbegin()->first);
  if (from == 0) return "the padded path is the faster one from " + range;
  if (from == ratios.begin()->first) return "unpadding is the faster one from " + range;
  return fmt::format("unpadding is faster from {} tokens on (of {})", from, range);
}

StoryFigures padding(const RunReport& report) {
  Story story(report, "S3", "s3_padding_policy",
              "SDPA lets padded rows attend, FlashAttention-2 removes them",
              "Transformers issue 36585");
  const auto paths =
      story.diffs({"real_valid_rows", "real_valid_rows_torch", "valid_rows_full", "valid_rows"});
  double largest = 0;
  for (const DiffOutcome* diff : paths) largest = std::max(largest, diff->max_abs);
  story.figure("difference of the two paths in valid rows", "within 4e-2",
               paths.empty() ? "" : fmt::format("at most {}", number(largest)));
  const auto rows =
      story.outcomes([](const Outcome& outcome) { return outcome.status == Status::ok; });
  const auto as_declared = std::count_if(rows.begin(), rows.end(), [](const StoredOutcome* stored) {
    return !is_failure(stored->judgement.verdict);
  });
  story.figure("padded rows", "differ: one path attends, the other writes zeros",
               rows.empty() ? ""
                            : fmt::format("as their policy says in {} of {} cases", as_declared,
                                          rows.size()));
  story.figure("which is faster", "SDPA below about 3,000 tokens", crossover_text(paths));
  return story.take();
}

// Returns the resources of a diff's side if the suite has it as a case, otherwise "".
std::string resources_text(const Story& story, const std::string& case_id) {
  const auto found = story.outcomes([&](const Outcome& outcome) {
    return outcome.case_id == case_id && outcome.description.registers_per_thread >= 0;
  });
  if (found.empty()) return "";
  const Description& launched = found.front()->outcome.description;
  return fmt::format("{} registers, {:.2f} KB", launched.registers_per_thread,
                     static_cast<double>(launched.shared_memory_bytes) / 1000);
}

StoryFigures tensor_cores(const RunReport& report) {
  Story story(report, "S4", "s4_tensor_cores", "Paged decode with tensor cores on and off",
              "FlashInfer issue 703");
  const DiffOutcome* diff = story.diff(
      {"flashinfer_on_and_off", "torch_p_rounded_or_not", "full_size", "p_rounded_or_not"});
  const DiffOutcome* timed =
      story.diff({"flashinfer_on_and_off", "torch_p_rounded_or_not", "p_rounded_or_not"});
  story.figure("largest relative difference", "1.579102",
               diff == nullptr ? ""
                               : fmt::format("{}, where |expected| is {} (rms of all: {})",
                                             number(diff->max_rel), number(diff->max_rel_expected),
                                             number(diff->rms_output)));
  story.figure("mean relative difference", "0.002205",
               diff == nullptr ? "" : number(diff->mean_rel));
  story.figure("explained by rounding", "by hand: tensor cores round P to fp16",
               diff == nullptr ? "" : sigmas_text(*diff));
  story.figure("time with and without", "1.276 ms and 1.595 ms (+25 %)",
               timed == nullptr ? "" : times_text(*timed));
  story.figure("registers and shared memory with tensor cores", "182 registers, 69.63 KB",
               diff == nullptr ? "" : resources_text(story, diff->case_a));
  story.figure("registers and shared memory without", "66 registers, 9.22 KB",
               diff == nullptr ? "" : resources_text(story, diff->case_b));
  return story.take();
}

StoryFigures unsupported_dtype(const RunReport& report) {
  Story story(report, "S5", "s5_unsupported_dtype", "fp32 meets a kernel of 16 bits",
              "rllm issue 11");
  const auto refused =
      story.outcomes([](const Outcome& outcome) { return outcome.status == Status::unsupported; });
  const auto crashed = story.outcomes([](const Outcome& outcome) {
    return outcome.status != Status::ok && outcome.status != Status::unsupported;
  });
  std::string ours;
  if (!refused.empty() || !crashed.empty()) {
    ours = fmt::format("refused in {}{}", plural(refused.size(), "case"),
                       refused.empty() ? "" : ": " + refused.front()->outcome.reason);
    if (!crashed.empty()) ours += fmt::format("; {} more ended badly", crashed.size());
  }
  story.figure("fp32 on that kernel", "an error at run time: only fp16 and bf16 are supported",
               ours);
  const DiffOutcome* cast =
      story.diff({"xformers_fp32_vs_cast", "torch_fp32_vs_cast", "fallbacks_full", "fallbacks"});
  const bool has_times = cast != nullptr && cast->time_ns_a > 0 && cast->time_ns_b > 0;
  story.figure("time of fp32, over that of casting to 16 bits", "about 1.3",
               has_times ? number(cast->time_ns_a / cast->time_ns_b) : "");
  const bool has_errors = cast != nullptr && cast->rms_a > 0;
  story.figure("error of casting, over that of fp32", "\"some accuracy lost\"",
               has_errors ? number(cast->rms_b / cast->rms_a) : "");
  return story.take();
}

}  // namespace

std::vector<StoryFigures> stories_of(const RunReport& report) {
  return {two_paths(report), ragged_bf16(report), padding(report), tensor_cores(report),
          unsupported_dtype(report)};
}

}  // namespace plumbline
