// baselines/contracts.toml: reading, and the rules a reviewed contract has to keep.
#include <array>

#include "harness/judge/contract.h"
#include "harness/judge/spec_fields.h"
#include "harness/judge/table_reader.h"
#include "harness/problem/suite.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 7> contract_keys{"kernel", "reason", "padding_policy", "spec", "promises", "limits", "proof"};
constexpr std::array<std::string_view, 7> promise_keys{"run_to_run", "batch", "layout", "page", "split", "prefill_decode", "lse"};
constexpr std::array<std::string_view, 4> limit_keys{"peak", "beyond_output", "rms", "lse"};
constexpr std::array<std::string_view, 4> accumulator_keys{"dtype", "toward_zero", "fraction_bits", "products_per_step"};
constexpr std::string_view proof_remedy = "add proof = \"…\": the source line or document that shows that the kernel needs it";

// The text of an accumulator table, as spec_fields.h spells it; a member that is missing leaves a text that is not allowed.
std::string accumulator_text(const ConfigNode& table, Errors& errors) {
  reject_unknown_keys(table, accumulator_keys, errors);
  const auto member = [&](std::string_view key) {
    const ConfigNode* node = table.find(key);
    return node == nullptr ? fmt::format("{} missing", key) : node->text;
  };
  const std::string toward_zero = member("toward_zero");
  const std::string direction = toward_zero == "true" ? "toward_zero" : toward_zero == "false" ? "nearest" : toward_zero;
  return fmt::format("{}/{}/{}/{}", member("dtype"), direction, member("fraction_bits"), member("products_per_step"));
}

class ContractReader {
 public:
  ContractReader(const ConfigNode& table, Errors& errors) : table_(table), errors_(errors) {}

  Contract read() {
    reject_unknown_keys(table_, contract_keys, errors_);
    TableReader reader(table_, "contract", errors_);
    contract_.file = table_.file;
    contract_.line = table_.line;
    contract_.kernel = reader.required_text("kernel", "provider/kernel");
    contract_.reason = reader.required_text("reason", "why the kernel is judged like this");
    contract_.proof = reader.optional_text("proof");
    contract_.padding_policy =
        reader.optional_word("padding_policy", {PaddingPolicy::zeros, PaddingPolicy::untouched, PaddingPolicy::attended});
    if (const ConfigNode* spec = reader.optional_table("spec")) read_spec(*spec);
    if (const ConfigNode* promises = reader.optional_table("promises")) read_promises(*promises);
    if (const ConfigNode* limits = reader.optional_table("limits")) read_limits(*limits);
    return contract_;
  }

 private:
  std::string of_kernel(std::string_view what) const { return fmt::format("{} of {}", what, contract_.kernel); }

  void read_spec(const ConfigNode& spec) {
    reject_unknown_keys(spec, spec_field_names(), errors_);
    TableReader reader(spec, of_kernel("spec"), errors_);
    for (const auto& [field, node] : spec.members) {
      const auto known = spec_field_names();
      if (std::find(known.begin(), known.end(), field) == known.end()) continue;
      if (node.kind == ConfigNode::Kind::array) {
        reader.complain(node, fmt::format("{} must be one value", field));
        continue;
      }
      const std::string text = node.kind == ConfigNode::Kind::table ? accumulator_text(node, errors_) : node.text;
      if (const auto complaint = set_spec_field(spec_, field, text, Problem{})) {
        reader.complain(node, *complaint);
        continue;
      }
      if (needs_proof(field, text) && contract_.proof.empty()) {
        reader.complain(node, fmt::format("{} = {} widens sigma or the LSE scale by orders of magnitude and cites no proof", field, text),
                        std::string(proof_remedy));
      }
      contract_.spec_fields.emplace_back(field, text);
    }
  }

  void read_promises(const ConfigNode& promises) {
    reject_unknown_keys(promises, promise_keys, errors_);
    TableReader reader(promises, of_kernel("promises"), errors_);
    const auto promise = [&](std::string_view key) {
      return reader.optional_word(key, {Promise::none, Promise::rounding, Promise::bitwise}).value_or(Promise::none);
    };
    contract_.promises = {promise("run_to_run"), promise("batch"), promise("layout"), promise("page"),
                          promise("split"), promise("prefill_decode"), promise("lse")};
  }

  void read_limits(const ConfigNode& limits) {
    reject_unknown_keys(limits, limit_keys, errors_);
    TableReader reader(limits, of_kernel("limits"), errors_);
    // The strictest column that the pinned spec can meet: what is above it is looser for some problem.
    const Limits defaults = default_limits(spec_, Problem{}, 0);
    const auto limit = [&](std::string_view key, double default_limit) {
      const auto value = reader.optional_positive(key);
      if (value && *value > default_limit && contract_.proof.empty()) {
        reader.complain(*limits.find(key), fmt::format("{} = {} is looser than the default {} and cites no proof", key, *value, default_limit),
                        std::string(proof_remedy));
      }
      return value;
    };
    contract_.peak = limit("peak", defaults.peak);
    contract_.beyond_output = limit("beyond_output", defaults.beyond_output);
    contract_.rms = limit("rms", defaults.rms);
    contract_.lse = limit("lse", defaults.lse);
  }

  const ConfigNode& table_;
  Errors& errors_;
  Contract contract_;
  RoundingSpec spec_ = strict_spec(Problem{});  // the pinned spec for a bf16 problem
};

// A contract behind one that matches its kernel would never be used.
void reject_shadowed(const std::vector<Contract>& contracts, Errors& errors) {
  for (std::size_t later = 0; later < contracts.size(); ++later) {
    const Contract& contract = contracts[later];
    const bool is_glob = contract.kernel.find_first_of("*?") != std::string::npos;
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const Contract& first = contracts[earlier];
      if (contract.kernel.empty() || !(is_glob ? first.kernel == contract.kernel : glob_match(first.kernel, contract.kernel))) continue;
      errors.push_back({contract.file, contract.line,
                        fmt::format("the contract of {} is never used: \"{}\" on line {} matches first", contract.kernel, first.kernel, first.line),
                        "the first contract that matches counts: put the narrower one first"});
      break;
    }
  }
}

}  // namespace

Result<Contracts> Contracts::read(const std::filesystem::path& path) {
  const auto file = read_config(path);
  if (!file) return tl::unexpected(file.error());
  Contracts result;
  Errors errors;
  for_each_table(*file, "contract", errors,
                 [&](const ConfigNode& table) { result.contracts.push_back(ContractReader(table, errors).read()); });
  reject_shadowed(result.contracts, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  return result;
}

}  // namespace plumbline
