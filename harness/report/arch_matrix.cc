// Computes, for each architecture, how near cases come to their limits and which outputs are equal.
#include "harness/report/arch_matrix.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "harness/base/text.h"
#include "harness/report/tally.h"
#include "harness/store/stored.h"
#include "harness/suite/gpu_case.h"

namespace plumbline {
namespace {

using KernelProblem = std::pair<std::string, std::string>;  // kernel without its provider, problem
using DeviceOutcomes = std::map<std::string, const StoredOutcome*>;  // by device
using RowKey = std::tuple<std::string, std::string, std::string>;    // kernel, dtype, tensor cores

// The number sorts "sm_100" after "sm_90". Names without a number come last.
std::int64_t arch_number(const std::string& arch) {
  const auto number =
      parse_integer(std::string_view(arch).substr(std::min(arch.size(), arch.find('_') + 1)));
  return number.value_or(1'000'000);
}

// Outcomes on GPUs and emulators, by kernel and problem. A case in several suites counts once.
class Outcomes {
 public:
  explicit Outcomes(const std::vector<StoredOutcome>& outcomes) {
    for (const StoredOutcome& stored : outcomes) {
      const Outcome& o = stored.outcome;
      if (!is_gpu_case(o.c)) continue;
      const KernelProblem kernel_problem{gpu_kernel(o.c), problem_id(o.c.problem)};
      if (!outcomes_[kernel_problem].try_emplace(o.c.device, &stored).second) continue;
      std::string& arch = arch_of_device_[o.c.device];
      if (arch.empty()) arch = arch_of(o);
      if (o.status == Status::ok)
        mode_of_kernel_[kernel_problem.first] = o.description.tensor_cores;
    }
  }

  // Sorted by name, because outcomes are stored in the order in which threads finished.
  std::vector<KernelProblem> kernel_problems() const {
    std::vector<KernelProblem> all;
    for (const auto& [kernel_problem, by_device] : outcomes_) all.push_back(kernel_problem);
    return all;
  }
  const DeviceOutcomes& by_device(const KernelProblem& kernel_problem) const {
    return outcomes_.at(kernel_problem);
  }

  // Returns the kernel's tensor-core mode, because a case that did not run has none of its own.
  std::string mode(const KernelProblem& kernel_problem) const {
    const auto found = mode_of_kernel_.find(kernel_problem.first);
    return found == mode_of_kernel_.end() ? "none" : found->second;
  }

  std::vector<ArchMatrix::Column> columns() const {
    std::vector<ArchMatrix::Column> columns;
    for (const auto& [device, arch] : arch_of_device_) columns.push_back({device, arch});
    std::stable_sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) {
      return std::pair(!is_emulated(a.device), arch_number(a.arch)) <
             std::pair(!is_emulated(b.device), arch_number(b.arch));
    });
    return columns;
  }

 private:
  std::map<KernelProblem, DeviceOutcomes> outcomes_;
  std::map<std::string, std::string> arch_of_device_;
  std::map<std::string, std::string> mode_of_kernel_;
};

void add_to(ArchMatrix::Cell& cell, const StoredOutcome& stored) {
  cell.ran += stored.outcome.status == Status::ok ? 1 : 0;
  cell.failures += is_failure(stored.judgement.verdict) ? 1 : 0;
  if (stored.outcome.status == Status::ok)
    cell.worst_percent = worse(cell.worst_percent, stored.judgement.percent_of_limit);
}

void add_rows(const Outcomes& outcomes, ArchMatrix& matrix) {
  std::map<RowKey, std::vector<KernelProblem>> by_row;
  for (const KernelProblem& kernel_problem : outcomes.kernel_problems()) {
    const Problem& problem = outcomes.by_device(kernel_problem).begin()->second->outcome.c.problem;
    by_row[{kernel_problem.first, std::string(name(problem.dtype)), outcomes.mode(kernel_problem)}]
        .push_back(kernel_problem);
  }
  for (const auto& [key, kernel_problems] : by_row) {
    std::set<std::string> devices;
    for (const KernelProblem& kernel_problem : kernel_problems) {
      for (const auto& [device, stored] : outcomes.by_device(kernel_problem))
        devices.insert(device);
    }
    ArchMatrix::Row row{std::get<0>(key), std::get<1>(key), std::get<2>(key), 0, {}};
    for (const auto& column : matrix.columns) {
      row.cells.push_back(devices.contains(column.device) ? std::optional(ArchMatrix::Cell{})
                                                          : std::nullopt);
    }
    for (const KernelProblem& kernel_problem : kernel_problems) {
      const DeviceOutcomes& by_device = outcomes.by_device(kernel_problem);
      if (by_device.size() != devices.size()) {
        ++matrix.left_out;
        continue;
      }
      ++row.cases;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (row.cells[i]) add_to(*row.cells[i], *by_device.at(matrix.columns[i].device));
      }
    }
    matrix.rows.push_back(std::move(row));
  }
}

// `mode`: compare only kernels of this mode; nullopt = all.
ArchMatrix::Bits compare(const Outcomes& outcomes, const std::string& a, const std::string& b,
                         const std::optional<std::string>& mode) {
  ArchMatrix::Bits bits{a, b, mode.value_or(""), 0, 0, "", ""};
  for (const KernelProblem& kernel_problem : outcomes.kernel_problems()) {
    const DeviceOutcomes& by_device = outcomes.by_device(kernel_problem);
    const auto of_a = by_device.find(a), of_b = by_device.find(b);
    if (of_a == by_device.end() || of_b == by_device.end() ||
        (mode && outcomes.mode(kernel_problem) != *mode))
      continue;
    const Outcome &left = of_a->second->outcome, &right = of_b->second->outcome;
    if (left.output_digest.empty() || right.output_digest.empty()) continue;
    ++bits.common;
    if (left.output_digest == right.output_digest) {
      ++bits.equal;
    } else if (bits.first_case_a.empty()) {
      bits.first_case_a = left.case_id;
      bits.first_case_b = right.case_id;
    }
  }
  return bits;
}

void add_bits(const Outcomes& outcomes, ArchMatrix& matrix) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto& columns = matrix.columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (is_emulated(columns[i].device)) {
      if (i + 1 < columns.size() && is_emulated(columns[i + 1].device))
        pairs.emplace_back(columns[i].device, columns[i + 1].device);
    } else if (std::any_of(columns.begin(), columns.end(), [&](const auto& c) {
                 return c.device == "emulated:" + columns[i].arch;
               })) {
      pairs.emplace_back("emulated:" + columns[i].arch, columns[i].device);
    }
  }
  for (const auto& [a, b] : pairs) {
    for (const char* mode : {"on", "off", "none"}) {
      ArchMatrix::Bits bits = compare(outcomes, a, b, mode);
      if (bits.common > 0) matrix.bits.push_back(std::move(bits));
    }
  }
}

}  // namespace

ArchMatrix arch_matrix(const std::vector<StoredOutcome>& stored) {
  const Outcomes outcomes(stored);
  ArchMatrix matrix;
  matrix.columns = outcomes.columns();
  add_rows(outcomes, matrix);
  add_bits(outcomes, matrix);
  for (const KernelProblem& kernel_problem : outcomes.kernel_problems()) {
    for (const auto& [device, answer] : outcomes.by_device(kernel_problem))
      matrix.reused += answer->outcome.reused_from.empty() ? 0 : 1;
  }
  return matrix;
}

ArchMatrix::Bits compare_bits(const std::vector<StoredOutcome>& outcomes, const std::string& a,
                              const std::string& b) {
  return compare(Outcomes(outcomes), a, b, std::nullopt);
}

}  // namespace plumbline
