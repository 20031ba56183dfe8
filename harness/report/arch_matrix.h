// Compares the same cases across architectures: how near each comes to its limit, and whether the
// outputs are equal bit for bit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/report/report.h"

namespace plumbline {

struct ArchMatrix {
  // A device. Emulated devices come before GPUs; both are sorted by architecture.
  struct Column {
    std::string device;  // "emulated:sm_90", "cuda:0"
    std::string arch;    // "sm_90"; "" if the GPU's kernels do not state it
  };
  struct Cell {
    std::size_t ran = 0, failures = 0;  // among the row's cases
    double worst_percent = 0;           // percent of a limit; infinite if any case has NaN
  };
  // A kernel, dtype of Q and tensor-core mode. Counts only cases that exist on all devices of the
  // row.
  struct Row {
    std::string kernel, dtype, tensor_cores;
    std::size_t cases = 0;                   // per column
    std::vector<std::optional<Cell>> cells;  // by column; nullopt: no case of the row
  };
  // How many outputs of two devices are equal, per tensor-core mode.
  struct Bits {
    std::string a, b, tensor_cores;
    std::size_t common = 0, equal = 0;       // common: cases that ran on both
    std::string first_case_a, first_case_b;  // the first that differs, by name; "" if none
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  // Pairs: neighbouring emulated architectures, and each GPU with the emulator of its architecture.
  std::vector<Bits> bits;
  std::size_t left_out = 0;  // cases missing on a device of their row
  std::size_t reused = 0;    // outcomes copied from another architecture
};

// Uses the outcomes on GPUs and emulated architectures. Without any there are no columns.
ArchMatrix arch_matrix(const std::vector<StoredOutcome>& outcomes);
// Compares the output digests of all common cases of two devices, in any mode (tensor_cores is "").
// `common` is 0 if there is nothing to compare.
ArchMatrix::Bits compare_bits(const std::vector<StoredOutcome>& outcomes, const std::string& a,
                              const std::string& b);

// Returns "plumbline run --format json --case A --case B", which shows both digests.
std::string reproduce_line(const ArchMatrix::Bits& bits, const std::string& reproduce_command);

// Returns two lines: how many cases differ and the first of them, and a line that reproduces it.
std::string first_difference(const ArchMatrix::Bits& bits, const std::string& reproduce_command);

// The text ends with a line break. The Markdown has no headline.
std::string render_matrix(const ArchMatrix& matrix, const std::string& reproduce_command,
                          const Style& style);
std::string render_matrix_markdown(const ArchMatrix& matrix, const std::string& reproduce_command);
std::string json_of_matrix(const ArchMatrix& matrix, const std::string& reproduce_command);

}  // namespace plumbline
