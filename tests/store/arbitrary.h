// Random rows to store, with values from the whole range of each type.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include "harness/problem/problem_fields.h"
#include "tests/store/fixture.h"

namespace plumbline {

// Generates values from the whole range of a type, difficult ones often.
class Arbitrary {
 public:
  explicit Arbitrary(unsigned seed) : random_(seed) {}

  bool flag() { return below(2) == 1; }
  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_);
  }
  std::int64_t integer() {
    constexpr std::int64_t awkward[] = {0, 1, -1, std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min()};
    return flag() ? awkward[below(5)] : static_cast<std::int64_t>(random_());
  }
  double real() {
    constexpr double awkward[] = {0.0,
                                  -0.0,
                                  1.0,
                                  0.1,
                                  5e-324,
                                  1.7976931348623157e308,
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity()};
    return flag() ? awkward[below(8)]
                  : std::ldexp(static_cast<double>(below(std::int64_t{1} << 53)),
                               static_cast<int>(below(200)) - 150);
  }
  std::string text() {
    const char* const awkward[] = {"",
                                   "peak",
                                   "'; DROP TABLE outcome; --",
                                   "two\nlines\tand \"quotes\"",
                                   "σ ≤ 6.5 — ✓ 🧮",
                                   "{}",
                                   "NULL"};
    return awkward[below(7)];
  }
  template <class Enum>
  Enum word() {
    return static_cast<Enum>(below(static_cast<std::int64_t>(all<Enum>().size())));
  }

  Problem problem() {
    Problem p;
    constexpr DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
    p.dtype = dtypes[below(3)];
    p.kv_dtype = flag() ? p.dtype : DType::none;
    p.out_dtype = flag() ? DType::f32 : DType::none;
    for_each_member([&]<class T>(const ProblemField<T>& field) {
      if constexpr (std::is_same_v<T, bool>) {
        p.*field.member = flag();
      } else if constexpr (std::is_same_v<T, double>) {
        p.*field.member = static_cast<double>(below(1000)) / 7;
      } else if constexpr (std::is_same_v<T, std::int64_t>) {
        const auto least = static_cast<std::int64_t>(field.least);
        p.*field.member = least + below(static_cast<std::int64_t>(field.most) - least + 1);
      } else if constexpr (std::is_same_v<T, std::uint64_t>) {
        p.*field.member = random_();
      } else if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>) {
        p.*field.member = word<T>();
      }
    });
    return p;
  }

  ErrorPicture picture() {
    ErrorPicture p;
    const auto count = [&] { return static_cast<std::uint32_t>(random_()); };
    for (int i = 0; i < ErrorPicture::bins; ++i) p.histogram.push_back(count());
    for (int i = 0; i < ErrorPicture::ratio_classes; ++i) p.spre_ratios.push_back(count());
    p.map_rows = 1 + below(ErrorPicture::max_parts);
    p.map_columns = 1 + below(ErrorPicture::max_parts);
    for (std::int64_t i = p.map_rows * p.map_columns; i > 0; --i)
      p.map.push_back(static_cast<std::uint8_t>(below(256)));
    return p;
  }

  Judgement judgement() {
    Judgement j;
    j.verdict = word<Verdict>();
    for (std::int64_t i = below(4); i > 0; --i)
      j.findings.push_back({word<FindingKind>(), real(), real(), text()});
    for (std::int64_t i = below(3); i > 0; --i) j.notes.push_back(text());
    j.percent_of_limit = real();
    j.nearest_statistic = text();
    return j;
  }

  Description description(const Problem& problem) {
    Description d;
    d.launched = text();
    d.build_id = text();
    d.tensor_cores = flag() ? "on" : "none";
    d.padding_policy = word<PaddingPolicy>();
    d.spec = strict_spec(problem);
    d.spec.split_partial_dtype = flag() ? DType::bf16 : DType::f32;
    for (Promise* promise :
         {&d.promises.run_to_run, &d.promises.batch, &d.promises.layout, &d.promises.page,
          &d.promises.split, &d.promises.prefill_decode, &d.promises.lse}) {
      *promise = word<Promise>();
    }
    d.registers_per_thread = static_cast<int>(below(257)) - 1;
    d.spill_bytes_per_thread = static_cast<int>(below(3)) - 1;
    d.shared_memory_bytes = below(3) - 1;
    d.stack_bytes_per_thread = below(3) - 1;
    d.device_arch = text();
    return d;
  }

  ErrorStatistics errors() {
    ErrorStatistics e;
    e.elements = integer();
    for (double* value :
         {&e.peak, &e.beyond_output, &e.rms, &e.bound, &e.max_abs, &e.max_rel, &e.mean_abs,
          &e.max_ulp, &e.outside_allclose_1e3, &e.outside_allclose_1e2}) {
      *value = real();
    }
    for (const RowOutput output : all<RowOutput>()) {
      const RowStatistics& of = row_statistics[output];
      if ((e.*of.measured = flag())) e.*of.z = real(), e.*of.max_abs = real();
    }
    if ((e.has_elsewhere = flag())) e.elsewhere = real();
    if ((e.has_suite_scores = flag())) e.shrink_z = real(), e.temperature_z = real();
    return e;
  }

  WorstElement worst() {
    WorstElement w;
    w.element = {integer(), integer(), integer(), integer()};
    for (double* value : {&w.got, &w.expected, &w.sigma, &w.ulp}) *value = real();
    for (double& share : w.share) share = real();
    w.visible_keys = integer();
    return w;
  }

  StoredOutcome outcome(int number) {
    StoredOutcome stored;
    Outcome& o = stored.outcome;
    o.suite = "suite " + std::to_string(number);  // unique within its run
    o.group = text();
    o.tier = text();
    o.c = {"cpu/flash", flag() ? "cpu" : "emulated:sm_90", problem()};
    o.case_id = case_id(o.c);
    o.problem_digest = text();
    o.status = word<Status>();
    o.reason = text();
    o.description = description(o.c.problem);
    o.workspace_bytes = random_();
    if (o.status == Status::ok) o.errors = errors();
    for (std::int64_t* count :
         {&o.faults.nan, &o.faults.inf, &o.faults.unwritten, &o.faults.out_of_range,
          &o.faults.padded_rows, &o.faults.empty_rows, &o.faults.inexact, &o.faults.fence_bytes}) {
      *count = below(1'000'000);
    }
    o.faults.detail = text();
    if (flag()) o.worst = worst();
    o.worst_statistic = text();
    o.location = {word<LocationKind>(), text(), real(), "", false};
    for (std::int64_t i = below(20); i > 0; --i) o.head_rms.push_back(static_cast<float>(real()));
    if (flag()) o.picture = picture();
    o.reference_rows = integer();
    o.rows_total = integer();
    o.row_seed = integer();
    o.widening = real();
    o.spec_judged = text();
    o.provider_options = text();
    o.output_digest = text();
    o.repeat_checked = flag();
    o.repeat_equal = flag();
    o.calls = static_cast<int>(below(4));
    o.call_difference = text();
    if ((o.timed = flag())) o.time_ns = real(), o.time_mad_ns = real(), o.time_ratio = real();
    if (o.timed && flag()) o.time_hot_ns = static_cast<double>(1 + below(1000));
    if (o.timed) o.times = times();
    o.device = {text(), flag() ? 1 + below(1'000'000) : 0, text(), text(), text()};
    if (flag()) o.peak_memory_bytes = below(1'000'000);
    o.wall_ms = real();
    o.saved_to = text();
    if (flag())
      o.expected = ExpectedFailure{"https://example.com/" + text(), text(), text(), "", 0};
    stored.judgement = judgement();
    if (flag()) stored.judgement.terms = terms();
    if (flag())
      stored.judgement.time_against_past = TimeAgainstPast{static_cast<int>(below(31)), real()};
    if (flag()) stored.judgement.confirmation = word<Confirmation>();
    if (flag())
      stored.judgement.gated_time =
          GatedTime{"quiet", static_cast<int>(below(60)), 3, 1.5, 0.01, 1.6, 0.02, 2.5};
    return stored;
  }

  std::vector<double> numbers() {
    std::vector<double> values;
    for (std::int64_t i = below(4); i > 0; --i)
      values.push_back(static_cast<double>(1 + below(1'000'000)) / 7);
    return values;
  }

  Times times() {
    Times t;
    for (std::int64_t i = below(4); i > 0; --i) {
      t.rounds.push_back({numbers(), numbers(), numbers(), numbers(), numbers(), numbers(),
                          numbers(), numbers(), numbers(), 0.5, 2400, 1e6,
                          flag() ? "power cap" : "", 1.25});
    }
    t.fresh_ratios = numbers();
    for (double* value : {&t.cpu_ns, &t.sentinel_ns, &t.flops_per_second, &t.bytes_per_second,
                          &t.flops_share, &t.bytes_share, &t.physics, &t.second_ratio})
      *value = flag() ? 0 : static_cast<double>(1 + below(1'000'000)) / 7;
    return t;
  }

  ContractSnapshot terms() {
    ContractSnapshot t;
    for (double* limit : {&t.limits.peak, &t.limits.beyond_output, &t.limits.rms, &t.limits.lse})
      *limit = std::abs(real());
    if (flag()) t.padding_policy = word<PaddingPolicy>();
    for (Promise* promise : {&t.promises.run_to_run, &t.promises.split, &t.promises.lse})
      *promise = word<Promise>();
    return t;
  }

  StoredDiff diff(int number) {
    StoredDiff stored;
    DiffOutcome& d = stored.outcome;
    d.suite = "stories";
    d.name = "diff " + std::to_string(number);
    d.tier = text();
    d.expect = text();
    d.case_a = "cpu/flash/a'\"\n";
    d.case_b = "cpu/flash/b";
    d.status = word<Status>();
    d.reason = text();
    if (d.status == Status::ok) {
      for (std::int64_t* value : {&d.rows, &d.elements, &d.heads, &d.heads_bit_equal})
        *value = integer();
      for (double* value :
           {&d.max_abs, &d.mean_abs, &d.max_rel, &d.mean_rel, &d.max_sigma, &d.max_ulp,
            &d.max_rel_expected, &d.rms_output, &d.bit_equal_share, &d.rms_a, &d.rms_b}) {
        *value = real();
      }
      d.max_abs_element = {integer(), integer(), integer(), integer()};
      d.max_rel_element = {integer(), integer(), integer(), integer()};
    }
    for (std::int64_t i = below(5); i > 0; --i)
      d.per_head.push_back({integer(), integer(), real(), real(), flag()});
    d.time_ns_a = real();
    d.time_ns_b = real();
    stored.judgement = judgement();
    return stored;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace plumbline
