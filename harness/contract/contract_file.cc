// Reads baselines/contracts.toml, and checks the rules for reviewed contracts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "harness/base/glob.h"
#include "harness/base/table_reader.h"
#include "harness/base/text.h"
#include "harness/contract/contract.h"
#include "harness/contract/reviewed_file.h"
#include "harness/contract/spec_fields.h"
#include "harness/problem/contradictory_flags.h"
#include "harness/problem/problem.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 11> contract_keys{
    "kernel", "device",   "arch",   "dtype", "reason",      "padding_policy",
    "spec",   "promises", "limits", "proof", "split_option"};
constexpr std::array<std::string_view, 4> accumulator_keys{"dtype", "toward_zero", "fraction_bits",
                                                           "products_per_step"};
constexpr std::string_view proof_remedy =
    "add proof = \"…\": the source line or document that shows that the kernel needs this value";

// Returns the text of an accumulator table, as spec_fields.h spells it. If a member is missing, the
// text is not an allowed one.
std::string accumulator_text(const ConfigNode& table, Errors& errors) {
  reject_unknown_keys(table, accumulator_keys, errors);
  const auto member = [&](std::string_view key) {
    const ConfigNode* node = table.find(key);
    return node == nullptr ? fmt::format("{} missing", key) : node->text;
  };
  const std::string toward_zero = member("toward_zero");
  const std::string direction = toward_zero == "true"    ? "toward_zero"
                                : toward_zero == "false" ? "nearest"
                                                         : toward_zero;
  return fmt::format("{}/{}/{}/{}", member("dtype"), direction, member("fraction_bits"),
                     member("products_per_step"));
}

class ContractReader {
 public:
  ContractReader(const ConfigNode& table, Errors& errors) : table_(table), errors_(errors) {}

  Contract read() {
    reject_unknown_keys(table_, contract_keys, errors_);
    TableReader reader(table_, errors_);
    contract_.file = table_.file;
    contract_.line = table_.line;
    contract_.kernels = kernel_globs(table_, errors_);
    contract_.devices = device_globs(table_, errors_);
    contract_.archs = gpu_archs(table_, errors_);
    contract_.dtypes = dtypes_of_q(table_, errors_);
    contract_.reason = reader.text("reason", true);
    contract_.proof = reader.text("proof");
    contract_.split_option = reader.text("split_option");
    if (table_.find("padding_policy") != nullptr) {
      contract_.padding_policy =
          static_cast<PaddingPolicy>(reader.word("padding_policy", policies_, 0));
    }
    if (const ConfigNode* spec = sub_table(table_, "spec", errors_)) read_spec(*spec);
    if (const ConfigNode* promises = sub_table(table_, "promises", errors_))
      read_promises(*promises);
    if (const ConfigNode* limits = sub_table(table_, "limits", errors_)) read_limits(*limits);
    return contract_;
  }

 private:
  void complain(const ConfigNode& at, const std::string& message, std::string_view remedy = "") {
    errors_.push_back(
        at.error(fmt::format("contract of {}: {}", fmt::join(contract_.kernels, ", "), message),
                 std::string(remedy)));
  }

  void read_spec(const ConfigNode& spec) {
    const auto known = spec_field_names();
    reject_unknown_keys(spec, known, errors_);
    const std::size_t errors_before = errors_.size();
    for (const auto& [field, node] : spec.members) {
      if (std::find(known.begin(), known.end(), field) != known.end()) read_spec_field(field, node);
    }
    if (errors_.size() == errors_before) reject_idle_flags(spec);
  }

  // Rejects a flag that changes nothing for any dtype of Q that the contract applies to.
  void reject_idle_flags(const ConfigNode& spec) {
    std::vector<RoundingSpec> specs;
    for (const DType dtype : stored_dtypes) {
      const auto& dtypes = contract_.dtypes;
      if (dtypes.empty() || std::ranges::find(dtypes, name(dtype)) != dtypes.end())
        specs.push_back(spec_for(dtype));
    }
    for (const FlagOfRounding& flag : flags_of_roundings) {
      const bool is_always_idle =
          std::ranges::all_of(specs, [&](const RoundingSpec& one) { return is_idle(flag, one); });
      if (!specs.empty() && is_always_idle)
        complain(*spec.find(flag.name), idle_sentence(flag), "or remove the flag");
    }
  }

  // Returns the pinned spec of a problem with 16-bit outputs.
  RoundingSpec spec_for(DType dtype) const {
    Problem problem;
    problem.dtype = dtype;
    problem.out_dtype = DType::bf16;
    RoundingSpec spec = strict_spec(problem);
    for (const auto& [field, text] : contract_.spec_fields)
      set_spec_field(spec, field, text, problem);
    return spec;
  }

  void read_spec_field(const std::string& field, const ConfigNode& node) {
    if (node.kind == ConfigNode::Kind::array)
      return complain(node, fmt::format("{} is not one value", field),
                      "write one value, or a table for an accumulator");
    const std::string text =
        node.kind == ConfigNode::Kind::table ? accumulator_text(node, errors_) : node.text;
    if (const auto complaint = set_spec_field(spec_, field, text, Problem{}))
      return complain(node, *complaint, "write an allowed value");
    if (needs_proof(field, text) && contract_.proof.empty()) {
      complain(
          node,
          fmt::format(
              "{} = {} widens sigma or the LSE scale by orders of magnitude and cites no proof",
              field, text),
          proof_remedy);
    }
    // p_dtype sets p_prescale, so it comes first.
    const auto at =
        field == "p_dtype" ? contract_.spec_fields.begin() : contract_.spec_fields.end();
    contract_.spec_fields.emplace(at, field, text);
  }

  void read_promises(const ConfigNode& promises) {
    reject_unknown_keys(promises, texts_of(promise_fields, &PromiseField::name), errors_);
    TableReader reader(promises, errors_);
    for (const PromiseField& field : promise_fields) {
      contract_.promises.*field.promise =
          static_cast<Promise>(reader.word(field.name, promises_, 0));
    }
  }

  void read_limits(const ConfigNode& limits) {
    reject_unknown_keys(limits, texts_of(deciding_statistics, &Statistic::key), errors_);
    // Defaults for bf16 and one query row. They are the tightest of all problems, except for rms,
    // whose limit is wider for few rows.
    const Limits defaults = default_limits(spec_, Problem{}, 0);
    for (const Statistic& statistic : deciding_statistics) {
      const auto value = positive_number(limits, statistic.key, errors_);
      const double default_limit = defaults.*statistic.limit;
      if (value && *value > default_limit && contract_.proof.empty()) {
        complain(*limits.find(statistic.key),
                 fmt::format("{} = {} is looser than the default {} and cites no proof",
                             statistic.key, *value, default_limit),
                 proof_remedy);
      }
      contract_.limits[statistic] = value;
    }
  }

  const ConfigNode& table_;
  Errors& errors_;
  Contract contract_;
  RoundingSpec spec_ = strict_spec(Problem{});  // the pinned spec for a bf16 problem
  const std::array<std::string_view, 4> policies_{
      name(PaddingPolicy::zeros), name(PaddingPolicy::untouched), name(PaddingPolicy::attended),
      name(PaddingPolicy::anything)};
  const std::array<std::string_view, 3> promises_{name(Promise::none), name(Promise::rounding),
                                                  name(Promise::bitwise)};
};

// Returns true if `wider` is known to match everything that `narrower` matches. If both are globs,
// only simple cases are known.
bool takes_all_of(const std::string& wider, const std::string& narrower) {
  const bool is_glob = narrower.find_first_of("*?") != std::string::npos;
  return wider == narrower || wider == "*" || (!is_glob && glob_match(wider, narrower));
}

// Returns true if a condition that allows `wider` (empty: everything) allows all of `narrower`.
bool takes_all_of(const std::vector<std::string>& wider, const std::vector<std::string>& narrower) {
  if (wider.empty()) return true;
  return !narrower.empty() &&
         std::all_of(narrower.begin(), narrower.end(), [&](const std::string& narrow) {
           return std::any_of(wider.begin(), wider.end(),
                              [&](const std::string& wide) { return takes_all_of(wide, narrow); });
         });
}

// Returns the glob of `first` that matches every case of the kernels `glob` on the devices,
// architectures and dtypes of `later`, or nullptr.
const std::string* shadow_of(const Contract& first, const std::string& glob,
                             const Contract& later) {
  if (!takes_all_of(first.devices, later.devices) || !takes_all_of(first.archs, later.archs) ||
      !takes_all_of(first.dtypes, later.dtypes))
    return nullptr;
  const auto found =
      std::find_if(first.kernels.begin(), first.kernels.end(),
                   [&](const std::string& wider) { return takes_all_of(wider, glob); });
  return found == first.kernels.end() ? nullptr : &*found;
}

// Rejects a glob that would never be used, because an earlier contract matches all its cases.
void reject_shadowed(const std::vector<Contract>& contracts, Errors& errors) {
  for (std::size_t later = 0; later < contracts.size(); ++later) {
    for (const std::string& glob : contracts[later].kernels) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const std::string* shadow = shadow_of(contracts[earlier], glob, contracts[later]);
        if (shadow == nullptr) continue;
        errors.push_back(
            {contracts[later].file, contracts[later].line,
             fmt::format("the contract of {} is never used: \"{}\" on line {} matches first", glob,
                         *shadow, contracts[earlier].line),
             "the first contract that matches counts: put the narrower one first"});
        break;
      }
    }
  }
}

}  // namespace

Result<Contracts> Contracts::read(const std::filesystem::path& path) {
  const auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  Contracts result;
  Errors errors;
  for (const ConfigNode* table : reviewed_tables(*file, "contract", errors)) {
    result.contracts.push_back(ContractReader(*table, errors).read());
  }
  reject_shadowed(result.contracts, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  return result;
}

}  // namespace plumbline
