// Tries known rounding specs on a dump, tightest first, and answers rounding, bug or undecided.
#include "harness/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/check/examine.h"
#include "harness/measure/causes.h"
#include "harness/outcome/statistics_table.h"

namespace plumbline {
namespace {

constexpr std::size_t worst_shown = 5;

// Whether `rung` permits every error that `other` does.
bool permits(const RoundingSpec& rung, const RoundingSpec& other) {
  return looser_fields(other, rung).empty();
}

class Checker {
 public:
  Checker(const Dump& dump, const CheckOptions& options)
      : dump_(dump), options_(options), examiner_(dump, options) {}

  Result<CheckReport> run() {
    report_.name = dump_.name;
    report_.problem = dump_.problem();
    report_.stated = !dump_.spec.empty();
    if (auto done = try_rungs(); !done) return tl::unexpected(done.error());
    decide();
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
      if (!options_.whole_ladder && is_settled(rung)) continue;
      auto examination = examiner_.examine(rung);
      if (!examination) return tl::unexpected(examination.error());
      examinations_.push_back(std::move(*examination));
      // A stated spec that explains leaves nothing open. Of the others only the one that is
      // answered by is looked at again.
      if (report_.stated && !options_.whole_ladder && examinations_.front().trial.explains) break;
    }
    return {};
  }

  // A rung that permits all that an explaining one does cannot be the tightest.
  bool is_settled(const Rung& rung) const {
    return std::any_of(examinations_.begin(), examinations_.end(), [&](const Examination& e) {
      return e.trial.explains && permits(rung.spec, e.trial.rung.spec);
    });
  }

  // How tight a rung is on this dump: sigma's rms, and no tighter than any rung whose errors it
  // permits, too (a denominator from rounded P makes sigma a percent smaller, and the LSE's a
  // hundred times larger).
  double looseness(std::size_t i) const {
    const RungTrial& trial = examinations_[i].trial;
    double loosest = trial.sigma_rms;
    for (const Examination& other : examinations_) {
      if (permits(trial.rung.spec, other.trial.rung.spec))
        loosest = std::max(loosest, other.trial.sigma_rms);
    }
    return loosest;
  }

  std::optional<std::size_t> tightest_that_explains() const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < examinations_.size(); ++i) {
      if (examinations_[i].trial.explains && (!best || looseness(i) < looseness(*best))) best = i;
    }
    return best;
  }

  std::size_t loosest() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < examinations_.size(); ++i) {
      if (looseness(i) > looseness(best)) best = i;
    }
    return best;
  }

  void decide() {
    const auto explains = tightest_that_explains();
    const bool by_stated = report_.stated && examinations_.front().trial.explains;
    report_.judged = by_stated ? 0 : explains ? *explains : report_.stated ? 0 : loosest();
    Examination& judged = examinations_[report_.judged];
    if (judged.trial.outcome.errors.elements == 0 && judged.trial.outcome.faults.total() == 0) {
      report_.answer = Answer::undecided;
      report_.sentence = "no row sees a key: there is nothing to compare";
    } else if (by_stated || (explains && !report_.stated)) {
      report_.answer = Answer::rounding;
      report_.sentence = rounding_sentence(judged.trial);
    } else if (explains) {
      report_.answer = Answer::undecided;
      report_.sentence = fmt::format("the stated {} does not explain the output ({}), {} would: {}",
                                     examinations_.front().trial.rung.name,
                                     percent_text(examinations_.front().trial),
                                     judged.trial.rung.name, judged.trial.rung.rounds);
      report_.suggestions.push_back(
          fmt::format("either the kernel rounds more than {} does, as {} does: then state that; or "
                      "its error is a bug",
                      examinations_.front().trial.rung.name, judged.trial.rung.name));
    } else {
      report_.answer = Answer::bug;
      find_bug(judged);
    }
    report_.worst = examiner_.worst_elements(judged, worst_shown);
    for (Examination& examination : examinations_)
      report_.trials.push_back(std::move(examination.trial));
  }

  std::string rounding_sentence(const RungTrial& trial) const {
    std::string text =
        fmt::format("explained by what {} rounds, {}", trial.rung.name, percent_text(trial));
    if (!report_.stated && trial.rung.spec.s_rounded != DType::none) {
      text += "; no fused kernel rounds S, so that for one this would be a bug: state its spec";
    }
    return text;
  }

  static std::string percent_text(const RungTrial& trial) {
    const double percent = trial.judgement.percent_of_limit;
    if (!std::isfinite(percent)) return "not a number";
    return fmt::format("{:.{}f} % of the limit", percent, percent < 9.95 ? 1 : 0);
  }

  void find_bug(Examination& judged) {
    const RungTrial& trial = judged.trial;
    examiner_.explain_failure(judged, strict_rms());
    if (trial.outcome.faults.total() > 0) {
      report_.sentence = trial.outcome.faults.detail;
    } else if (report_.stated) {
      report_.sentence = fmt::format(
          "no rounding explains the output: {} by the stated {}, and no other rung does",
          percent_text(trial), trial.rung.name);
    } else {
      report_.sentence = fmt::format("no rounding explains the output: {} even by {}",
                                     percent_text(trial), trial.rung.name);
    }
    if (explained_by_another_reading(trial)) return;
    const ComparedOutput& outcome = trial.outcome;
    const RoundingSpec& spec = trial.rung.spec;
    report_.suggestions =
        causes({dump_.geometry.get(), dump_.inputs(), dump_.outputs(), &spec, &judged.reference,
                &judged.comparison, default_limits(spec, dump_.problem(), outcome.errors.elements),
                &outcome.faults, &outcome.location, dump_.mask_tensor});
  }

  // What the dump does not state may be read in two ways; if the other one explains the output,
  // that has to be stated.
  bool explained_by_another_reading(const RungTrial& trial) {
    const auto unstated = [&](const char* name) {
      return dump_.attributes.count(name) == 0 || dump_.attributes.at(name).empty();
    };
    const auto undecided = [&](std::string sentence) {
      report_.answer = Answer::undecided;
      report_.sentence = std::move(sentence);
      return true;
    };
    const auto& findings = trial.judgement.findings;
    const Statistic* only =
        findings.size() == 1 ? find_statistic(findings.front().statistic) : nullptr;
    const bool only_lse =
        trial.outcome.faults.total() == 0 && only != nullptr && only->worst == WorstAt::lse;
    if (only_lse && unstated("lse_base")) {
      Dump other = dump_;
      other.lse_base = 2;
      if (explains(other))
        return undecided(
            "the output is explained, the LSE only if it has base 2: state lse_base = 2, or e if "
            "it has not");
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

  bool explains(const Dump& other) const {
    const std::vector<Rung> rungs = ladder(other.problem());
    return std::any_of(rungs.begin(), rungs.end(), [&](const Rung& rung) {
      return would_explain(other, other.problem(), layout_of(other), rung.spec);
    });
  }

  // The same numbers in a narrower dtype; nullopt where some are none of it.
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
    const bool fits = std::all_of(values.begin(), values.end(),
                                  [&](float x) { return !(x == x) || round_to(x, dtype) == x; });
    if (!fits) return false;
    to.resize(values.size() * size_in_bytes(dtype));
    encode(dtype, values, to.data());
    return true;
  }

  double strict_rms() const {
    RoundingSpec strict = strict_spec(dump_.problem());
    strict.lse_base = dump_.lse_base;
    const auto found =
        std::find_if(examinations_.begin(), examinations_.end(),
                     [&](const Examination& e) { return e.trial.rung.spec == strict; });
    return found == examinations_.end() ? 0 : found->trial.sigma_rms;
  }

  const Dump& dump_;
  const CheckOptions& options_;
  Examiner examiner_;
  std::vector<Examination> examinations_;
  CheckReport report_;
};

}  // namespace

Result<CheckReport> check(const Dump& dump, const CheckOptions& options) {
  if (dump.out.empty()) {
    return fail(Error{dump.name, 0, "there is no output to judge: tensor out is missing or empty",
                      "add the kernel's output as out"});
  }
  return Checker(dump, options).run();
}

}  // namespace plumbline
