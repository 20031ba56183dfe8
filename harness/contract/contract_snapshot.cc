// Snapshots of contracts: makes them, writes their promises as text, and compares two of them.
#include "harness/contract/contract_snapshot.h"

#include <fmt/format.h>

#include <string_view>

#include "harness/contract/contract.h"
#include "harness/outcome/outcome.h"

namespace plumbline {
namespace {

std::string policy_text(const std::optional<PaddingPolicy>& policy) {
  return policy ? std::string(name(*policy)) : "as the kernel declares";
}

std::vector<std::string> looser_spec(const std::string& now, const std::string& before) {
  if (now.empty() || before.empty() || now == before) return {};
  const auto spec_now = parse_spec_text(now), spec_before = parse_spec_text(before);
  if (!spec_now || !spec_before) return {};
  return looser_fields(*spec_now, *spec_before);
}

}  // namespace

RunTarget target_of(const Outcome& outcome) { return {outcome.c.device, arch_of(outcome)}; }

ContractSnapshot take_snapshot(const Contracts& contracts, const Outcome& outcome) {
  const RunTarget place = target_of(outcome);
  ContractSnapshot terms{
      contracts.limits(outcome.c.kernel, outcome.c.problem, 0, place), std::nullopt, {}};
  if (const Contract* contract = contracts.find(outcome.c.kernel, place, outcome.c.problem.dtype)) {
    terms.padding_policy = contract->padding_policy;
    terms.promises = contract->promises;
  }
  return terms;
}

std::string promises_text(const Promises& promises) {
  std::string text;
  for (const PromiseField& field : promise_fields) {
    const Promise promise = promises.*field.promise;
    if (promise == Promise::none) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", field.name, name(promise));
  }
  return text;
}

Promises parse_promises(const std::string& text) {
  Promises promises;
  for (const PromiseField& field : promise_fields) {
    for (const Promise value : {Promise::rounding, Promise::bitwise}) {
      const std::string entry = fmt::format("{}={}", field.name, name(value));
      const std::size_t at = text.find(entry);
      const bool whole = at != std::string::npos && (at == 0 || text[at - 1] == ' ');
      if (whole) promises.*field.promise = value;
    }
  }
  return promises;
}

std::vector<std::string> looser_terms(const ContractSnapshot& now, const std::string& spec_now,
                                      const ContractSnapshot& before,
                                      const std::string& spec_before) {
  std::vector<std::string> looser = looser_spec(spec_now, spec_before);
  for (const Statistic& statistic : deciding_statistics) {
    const double limit = now.limits.*statistic.limit, was = before.limits.*statistic.limit;
    if (limit > was)
      looser.push_back(fmt::format("limit of {} {:.4g} (was {:.4g})", statistic.name, limit, was));
  }
  const bool anything_went = before.padding_policy == PaddingPolicy::anything;
  if (before.padding_policy && !(anything_went && now.padding_policy) &&
      now.padding_policy != before.padding_policy) {
    looser.push_back(fmt::format("padding policy {} (was {})", policy_text(now.padding_policy),
                                 policy_text(before.padding_policy)));
  }
  for (const PromiseField& field : promise_fields) {
    const Promise is = now.promises.*field.promise, was = before.promises.*field.promise;
    if (is < was)
      looser.push_back(fmt::format("promise {} {} (was {})", field.name, name(is), name(was)));
  }
  return looser;
}

}  // namespace plumbline
