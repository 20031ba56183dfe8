// Tries rounding models on a dump, strict ones first, and returns rounding, bug or undecided.
#include "harness/check/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/floating_point_state.h"
#include "harness/base/percent.h"
#include "harness/check/examine.h"
#include "harness/check/other_readings.h"
#include "harness/check/possible_padding.h"
#include "harness/diagnose/causes.h"
#include "harness/outcome/statistics_table.h"

namespace plumbline {
namespace {

constexpr std::size_t worst_shown = 5;
// If no spec is stated, an output that a model explains only above this percentage of a limit may
// still be a bug.
constexpr double convincing_percent = 90;
// A trial that compares more elements drops its reference and errors; restore() recomputes them.
constexpr std::int64_t max_kept_elements = 4'000'000;

// Returns true if `rung` permits every error that `other` permits.
bool permits(const RoundingSpec& rung, const RoundingSpec& other) {
  return looser_fields(other, rung).empty();
}

// Returns true if the errors that a model permits are so large that they hide many bugs: S in 16
// bits, and products that err 500 times as much as those of fp32.
bool hides_bugs(const RoundingSpec& spec) {
  return spec.s_rounded != DType::none || spec.product_rel_error > 0;
}

std::int64_t rows_given(const Geometry& geometry) {
  const Problem& problem = geometry.problem();
  return problem.heads_q *
         (problem.is_padded() ? problem.batch * problem.seq_q : geometry.total_q());
}

CheckReport report_before_any_trial(const Dump& dump) {
  CheckReport report;
  report.name = dump.name;
  report.problem = dump.problem();
  report.notes = dump.notes;
  if (dump.geometry->bias != nullptr) report.notes.emplace_back("a bias is added to the logits");
  report.unused_tensors = dump.unused_tensors;
  report.rows_given = rows_given(*dump.geometry);
  report.not_judged = dump.not_judged;
  report.stated = !dump.spec.empty();
  return report;
}

// Reports a call with dropout. No row of it can be compared, because the reference drops nothing.
CheckReport report_of_dropout(const Dump& dump) {
  CheckReport report = report_before_any_trial(dump);
  report.answer = Answer::undecided;
  report.sentence =
      fmt::format("{}: nothing judges a call with dropout yet, so no row was compared",
                  listed(dump.open.dropout));
  report.suggestions.emplace_back(
      "dump a call without dropout (dropout_p = 0, a model in eval mode) and without "
      "dropout's tensors");
  return report;
}

class Checker {
 public:
  Checker(const Dump& dump, const CheckOptions& options)
      : dump_(dump), options_(options), examiner_(dump, options) {}

  Result<CheckReport> run() {
    report_ = report_before_any_trial(dump_);
    if (auto done = try_rungs(); !done) return tl::unexpected(done.error());
    if (auto done = decide(); !done) return tl::unexpected(done.error());
    return std::move(report_);
  }

 private:
  Result<void> try_rungs() {
    std::vector<Rung> rungs = ladder(dump_.problem());
    if (report_.stated) {
      auto stated = find_rung(dump_.spec, dump_.problem());
      if (!stated) {
        for (Error& error : stated.error())
          error.file = dump_.name, error.message = printable(std::move(error.message));
        return tl::unexpected(stated.error());
      }
      std::erase_if(rungs, [&](const Rung& rung) { return rung.spec == stated->spec; });
      rungs.insert(rungs.begin(), std::move(*stated));
    }
    for (const Rung& rung : rungs) {
      if (!options_.whole_ladder && is_redundant(rung)) continue;
      auto examination = examiner_.examine(rung);
      if (!examination) return tl::unexpected(examination.error());
      if (examination->trial.outcome.errors.elements > max_kept_elements)
        examination->reference = {}, examination->comparison = {};
      examinations_.push_back(std::move(*examination));
      // A stated spec that explains the output decides, so no other model needs a trial.
      if (report_.stated && !options_.whole_ladder && examinations_.front().trial.explains) break;
    }
    return {};
  }

  static bool is_convincing(const RungTrial& trial) {
    // A truncated P makes the whole output smaller by nearly the limit of the scale test, so only
    // the statistics count.
    const double percent =
        trial.rung.spec.p_toward_zero ? trial.judgement.percent_of_limit : trial.percent_of_limit();
    return trial.explains && within(percent, convincing_percent);
  }

  // A model that permits all that a convincing one permits cannot be the tightest.
  bool is_redundant(const Rung& rung) const {
    return std::ranges::any_of(examinations_, [&](const Examination& e) {
      return is_convincing(e.trial) && permits(rung.spec, e.trial.rung.spec);
    });
  }

  // Returns the model that fits best: of the convincing ones, or if there are none, of all that
  // explain the output.
  std::optional<std::size_t> best_explaining_trial() const {
    std::optional<std::size_t> best;
    const auto rank = [&](std::size_t i) {
      const RungTrial& trial = examinations_[i].trial;
      return std::pair(is_convincing(trial), trial.fit);
    };
    for (std::size_t i = 0; i < examinations_.size(); ++i) {
      if (examinations_[i].trial.explains && (!best || rank(*best) < rank(i))) best = i;
    }
    return best;
  }

  // Returns the model whose limits the output exceeds least.
  std::size_t nearest() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < examinations_.size(); ++i) {
      if (exceeds(examinations_[best].trial.percent_of_limit(),
                  examinations_[i].trial.percent_of_limit()))
        best = i;
    }
    return best;
  }

  // Recomputes the reference of a trial that was too large to keep it.
  Result<void> restore(Examination& judged) const {
    if (!judged.reference.selection.rows.empty() || judged.trial.outcome.reference_rows == 0)
      return {};
    auto again = examiner_.examine(judged.trial.rung);
    if (!again) return tl::unexpected(again.error());
    judged = std::move(*again);
    return {};
  }

  Result<void> decide() {
    const auto explains = best_explaining_trial();
    const bool by_stated = report_.stated && examinations_.front().trial.explains;
    report_.judged = by_stated ? 0 : explains ? *explains : report_.stated ? 0 : nearest();
    Examination& judged = examinations_[report_.judged];
    if (auto done = restore(judged); !done) return done;
    if (judged.trial.outcome.errors.elements == 0 && judged.trial.outcome.faults.total() == 0) {
      report_.answer = Answer::undecided;
      report_.sentence = "no row sees a key: there is nothing to compare";
    } else if (by_stated || (explains && !report_.stated)) {
      report_.answer = by_stated ? Answer::rounding : classify_unstated(judged.trial);
      report_.sentence = rounding_sentence(judged.trial);
    } else if (explains) {
      report_.answer = Answer::undecided;
      report_.sentence = fmt::format("the stated {} does not explain the output ({}), {} would: {}",
                                     examinations_.front().trial.rung.name,
                                     percent_text(examinations_.front().trial),
                                     judged.trial.rung.name, judged.trial.rung.rounds);
      report_.suggestions.push_back(
          fmt::format("if the kernel rounds more than {0}, as {1} does, state spec = \"{1}\"; "
                      "otherwise its error is a bug",
                      examinations_.front().trial.rung.name, judged.trial.rung.name));
    } else {
      report_.answer = Answer::bug;
      find_bug(judged);
    }
    if (report_.answer != Answer::bug) mark_gradients_undecided();
    report_.worst = examiner_.worst_elements(judged, worst_shown);
    for (Examination& examination : examinations_)
      report_.trials.push_back(std::move(examination.trial));
    return {};
  }

  // Gradients in a dump are not judged, whatever the result of the forward pass.
  void mark_gradients_undecided() {
    if (dump_.open.gradients.empty()) return;
    const bool explained = report_.answer == Answer::rounding;
    report_.answer = Answer::undecided;
    report_.sentence =
        fmt::format("nothing judges gradients yet, so {} {} open; for the output alone: {}",
                    listed(dump_.open.gradients), dump_.open.gradients.size() == 1 ? "is" : "are",
                    report_.sentence);
    if (explained)
      report_.suggestions.emplace_back(
          "leave the gradients out of the dump to have the output alone judged: it is explained");
  }

  // Classifies an explained output if no spec is stated. Only a convincing model that hides no bugs
  // makes it rounding: one that explains the output only above 90 % of a limit may hide a bug.
  Answer classify_unstated(const RungTrial& trial) {
    const bool fused = std::ranges::any_of(examinations_, [](const auto& e) {
      return is_convincing(e.trial) && !hides_bugs(e.trial.rung.spec);
    });
    if (fused) return Answer::rounding;
    if (dump_.in_other_dtype != nullptr && explains(*dump_.in_other_dtype)) {
      report_.suggestions.push_back(fmt::format(
          "state dtype = {0} if the kernel computed in {0}, which also explains the output",
          name(dump_.in_other_dtype->problem().dtype)));
    }
    if (trial.rung.spec.s_rounded != DType::none) {
      report_.suggestions.push_back(fmt::format(
          "state spec = \"{}\" if the kernel writes S to memory in {}, as framework code does; no "
          "fused kernel does: state your kernel's spec; an error that it does not explain is a bug",
          trial.rung.name, name(trial.rung.spec.s_rounded)));
    } else if (hides_bugs(trial.rung.spec)) {
      report_.suggestions.push_back(fmt::format(
          "state spec = \"{}\" if the kernel multiplies parts of fp32 numbers; an error that a "
          "kernel in fp32 or tf32 makes is a bug",
          trial.rung.name));
    } else {
      report_.suggestions.push_back(
          fmt::format("state spec = \"{}\" if that is what the kernel rounds, or dump more rows or "
                      "heads",
                      trial.rung.name));
    }
    return Answer::undecided;
  }

  std::string rounding_sentence(const RungTrial& trial) const {
    const std::string only =
        report_.answer == Answer::rounding         ? ""
        : trial.rung.spec.s_rounded != DType::none ? "only a kernel that rounds S may err so: "
        : hides_bugs(trial.rung.spec)
            ? "only a kernel that multiplies parts of fp32 numbers may err so: "
            : "only just ";
    return fmt::format("{}explained by what {} rounds, {}", only, trial.rung.name,
                       percent_text(trial));
  }

  // Returns a sentence if all statistics are within their limits and only a scale test is not;
  // otherwise "".
  static std::string scale_sentence(const RungTrial& trial) {
    if (is_failure(trial.judgement.verdict)) return "";
    const auto text = [&](const ScaleTest& test, std::string_view what) {
      return fmt::format("{} is {:.2g} % too {}: rounding by {} stays within {:.2g} %", what,
                         100 * std::abs(test.effect), test.effect > 0 ? "large" : "small",
                         trial.rung.name, 100 * test.limit);
    };
    const ScaleTests& scale = trial.scale;
    if (!within(scale.lse.percent_of_limit(), 100))
      return text(scale.lse, "according to the LSE, the softmax scale");
    if (!within(scale.temperature.percent_of_limit(), 100))
      return text(scale.temperature, "the softmax scale");
    if (!within(scale.shrink.percent_of_limit(), 100))
      return text(scale.shrink, "the output as a whole");
    return "";
  }

  static std::string percent_text(const RungTrial& trial) {
    const double percent = trial.percent_of_limit();
    if (!std::isfinite(percent)) return "not a number";
    return percent_of_limit_text(percent, percent < 9.95 ? 1 : 0) + " of the limit";
  }

  void find_bug(Examination& judged) {
    const RungTrial& trial = judged.trial;
    examiner_.explain_failure(judged, strict_rms());
    if (trial.outcome.faults.total() > 0) {
      report_.sentence = trial.outcome.faults.detail;
    } else if (const std::string scale = scale_sentence(trial); !scale.empty()) {
      report_.sentence = scale;
      return;
    } else if (report_.stated) {
      report_.sentence = fmt::format(
          "no rounding explains the output: {} by the stated {}, and no other model explains it",
          percent_text(trial), trial.rung.name);
    } else {
      report_.sentence = fmt::format("no rounding explains the output: {} even by {}",
                                     percent_text(trial), trial.rung.name);
    }
    if (explained_by_another_reading(trial)) return;
    report_.suggestions = other_readings(dump_, trial.rung.spec);
    if (!report_.suggestions.empty()) return;
    find_causes(judged);
    if (names_alternative(report_.suggestions)) return;
    if (std::string nothing = unrelated(dump_, judged); !nothing.empty())
      report_.suggestions.insert(report_.suggestions.begin(), std::move(nothing));
  }

  // Looks for causes by the stated or strict spec, as a run does, then by the model that the answer
  // rests on. This model may be so loose that it hides most of the error.
  void find_causes(const Examination& judged) {
    Examination& first = examinations_[stated_or_strict()];
    bool explains = false;
    if (&first != &judged && restore(first)) {
      examiner_.explain_failure(first, strict_rms());
      report_.suggestions = causes_by(first, explains);
    }
    if (!explains) report_.suggestions = causes_by(judged, explains);
  }

  static bool names_alternative(const std::vector<std::string>& suggestions) {
    return !suggestions.empty() && suggestions.front().starts_with("would be explained");
  }

  std::vector<std::string> causes_by(const Examination& by, bool& explains) const {
    const ComparedOutput& outcome = by.trial.outcome;
    const RoundingSpec& spec = by.trial.rung.spec;
    return causes({dump_.geometry.get(), dump_.inputs(), dump_.outputs(), &spec, &by.reference,
                   &by.comparison, default_limits(spec, dump_.problem(), outcome.errors.elements),
                   &outcome.faults, &outcome.location, dump_.mask_tensor},
                  &explains);
  }

  // Unstated attributes may be read in two ways. If the second way explains the output, the user
  // has to state the attribute.
  bool explained_by_another_reading(const RungTrial& trial) {
    if (dump_.problem().is_merge()) return false;
    const auto unstated = [&](const char* name) {
      return dump_.attributes.count(name) == 0 || dump_.attributes.at(name).empty();
    };
    const auto undecided = [&](std::string sentence) {
      report_.answer = Answer::undecided;
      report_.sentence = std::move(sentence);
      return true;
    };
    // Counts findings about the LSE, and other findings. A finding about rows without a reference
    // counts as neither, because its statistic covers output and LSE.
    std::size_t of_lse = 0, others = 0;
    for (const auto& finding : trial.judgement.findings) {
      const Statistic* statistic = find_statistic(name(finding.kind));
      const bool is_of_lse = statistic != nullptr && statistic->of == RowOutput::lse;
      of_lse += is_of_lse ? 1 : 0;
      others +=
          is_of_lse || (statistic != nullptr && statistic->worst == WorstAt::elsewhere) ? 0 : 1;
    }
    const bool only_lse = trial.outcome.faults.total() == 0 && of_lse > 0 && others == 0;
    if (only_lse && unstated("lse_base")) {
      Dump other = dump_;
      other.lse_base = 2;
      if (explains(other))
        return undecided(
            "the output is explained, but the LSE only if its base is 2: state lse_base = 2 if it "
            "is, otherwise lse_base = e");
    }
    if (const std::int64_t rows = count_wrong_padding_rows(trial); rows > 0) {
      report_.suggestions.emplace_back(
          "state seqlens_q and seqlens_kv (and padding) if these rows are padding; otherwise they "
          "must hold 0, with an LSE of -infinity");
      return undecided(fmt::format(
          "{} rows see no key by the mask, and some do not hold 0; all others are explained",
          rows));
    }
    if (dump_.in_other_dtype != nullptr && explains(*dump_.in_other_dtype)) {
      return undecided(fmt::format(
          "inputs and output differ in dtype: a kernel that computed in {0} explains the output, "
          "one in {1} does not: state dtype = {0} if it did, or dtype = {1}",
          name(dump_.in_other_dtype->problem().dtype), name(dump_.problem().dtype)));
    }
    for (const DType dtype : {DType::bf16, DType::f16}) {
      if (!unstated("dtype") || dump_.problem().dtype != DType::f32) continue;
      const auto other = narrowed(dtype);
      if (other && explains(*other)) {
        return undecided(
            fmt::format("q, k and v are F32 but hold only {0} numbers, and a kernel that ran in "
                        "{0} explains the output: state "
                        "dtype = {0} if it did, or dtype = fp32",
                        name(dtype)));
      }
    }
    return false;
  }

  // Returns the number of rows that see no key if only such rows are wrong and all of them may be
  // unstated padding; otherwise 0.
  std::int64_t count_wrong_padding_rows(const RungTrial& trial) const {
    const Faults& faults = trial.outcome.faults;
    const bool others_are_right = faults.total() == faults.empty_rows &&
                                  trial.outcome.errors.elements > 0 &&
                                  within(trial.percent_of_limit(), 100);
    const bool may_be = dump_.mask_tensor && faults.empty_rows > 0 && others_are_right;
    return may_be ? count_possible_padding(*dump_.geometry) : 0;
  }

  bool explains(const Dump& other) const {
    const std::vector<Rung> rungs = ladder(other.problem());
    return std::ranges::any_of(rungs, [&](const Rung& rung) {
      return would_explain(other, other.problem(), layout_of(other), rung.spec);
    });
  }

  // Returns the dump with q, k and v in a narrower dtype; nullopt if it cannot hold their numbers.
  std::optional<Dump> narrowed(DType dtype) const {
    Dump other = dump_;
    Problem problem = dump_.problem();
    problem.dtype = dtype;
    problem.out_dtype = DType::f32;
    if (!narrow(dump_.q, dtype, other.q) || !narrow(dump_.k, dtype, other.k) ||
        !narrow(dump_.v, dtype, other.v))
      return std::nullopt;
    if (narrow(dump_.out, dtype, other.out)) problem.out_dtype = dtype;
    other.geometry = std::make_shared<const Geometry>(problem, layout_of(dump_));
    return other;
  }

  static bool narrow(const std::vector<std::byte>& from, DType dtype, std::vector<std::byte>& to) {
    std::vector<float> values(from.size() / sizeof(float));
    decode(DType::f32, from.data(), std::span<float>(values));
    const bool fits =
        std::ranges::all_of(values, [&](float x) { return !(x == x) || round_to(x, dtype) == x; });
    if (!fits) return false;
    to.resize(values.size() * size_in_bytes(dtype));
    encode(dtype, values, to.data());
    return true;
  }

  double strict_rms() const {
    const auto found = strict_examination();
    return found == examinations_.end() ? 0 : found->trial.sigma_rms;
  }

  std::size_t stated_or_strict() const {
    const auto found = strict_examination();
    return report_.stated || found == examinations_.end()
               ? 0
               : static_cast<std::size_t>(found - examinations_.begin());
  }

  std::vector<Examination>::const_iterator strict_examination() const {
    RoundingSpec strict = strict_spec(dump_.problem());
    strict.lse_base = dump_.lse_base;
    return std::ranges::find_if(examinations_,
                                [&](const Examination& e) { return e.trial.rung.spec == strict; });
  }

  const Dump& dump_;
  const CheckOptions& options_;
  Examiner examiner_;
  std::vector<Examination> examinations_;
  CheckReport report_;
};

}  // namespace

const RungTrial& CheckReport::judged_trial() const {
  static const RungTrial none;
  return trials.empty() ? none : trials[judged];
}

Result<CheckReport> check(const Dump& dump, const CheckOptions& options) {
  const UsualFloatingPoint state;
  if (dump.out.empty() && dump.geometry->out.elements > 0) {
    return fail(Error{dump.name, 0, "there is no output to judge: tensor out is missing or empty",
                      "add the kernel's output as out"});
  }
  if (!dump.open.dropout.empty()) return report_of_dropout(dump);
  return Checker(dump, options).run();
}

}  // namespace plumbline
