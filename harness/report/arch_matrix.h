// The same cases over all architectures: how near to the limit each comes, and where bits differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/report/report.h"

namespace plumbline {

struct ArchMatrix {
  // Devices by architecture, emulated ones before GPUs.
  struct Column {
    std::string device;  // "emulated:sm_90", "cuda:0"
    std::string arch;    // "sm_90"; "" where a GPU's kernels do not say it
  };
  struct Cell {
    std::size_t ran = 0, failures = 0;  // of the row's cases
    double worst_percent = 0;           // of a limit; NaN if any is NaN
  };
  // One kernel, dtype of Q and tensor-core mode, over the cases that all of its columns have.
  struct Row {
    std::string kernel, dtype, tensor_cores;
    std::size_t cases = 0;                   // in each of its columns
    std::vector<std::optional<Cell>> cells;  // by column; nullopt: the kernel has no case there
  };
  // Output digests of two devices, by tensor-core mode.
  struct Bits {
    std::string a, b, tensor_cores;
    std::size_t common = 0, equal = 0;       // cases that ran on both
    std::string first_case_a, first_case_b;  // of those that differ, by name; "" if none
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  // neighbouring emulated architectures; each GPU with the emulator of its architecture
  std::vector<Bits> bits;
  std::size_t left_out = 0;  // cases that only some of their kernel's devices have
  std::size_t reused = 0;    // outcomes taken over from another architecture
};

// Of the outcomes on GPUs and emulated ones; no columns where there is none.
ArchMatrix arch_matrix(const std::vector<StoredOutcome>& outcomes);
// Digests of all common cases of two devices, whatever their mode (tensor_cores is ""). `common` is
// 0 where there is nothing to compare.
ArchMatrix::Bits compare_bits(const std::vector<StoredOutcome>& outcomes, const std::string& a,
                              const std::string& b);

// "plumbline run --format json --case A --case B": shows both digests.
std::string reproduce_line(const ArchMatrix::Bits& bits, const std::string& reproduce_command);

// How many cases differ, the first of them, and the line that repeats it: two lines.
std::string first_difference(const ArchMatrix::Bits& bits, const std::string& reproduce_command);

// Text ends with a line break. The Markdown has no headline.
std::string render_matrix(const ArchMatrix& matrix, const std::string& reproduce_command,
                          const Style& style);
std::string render_matrix_markdown(const ArchMatrix& matrix, const std::string& reproduce_command);
std::string json_of_matrix(const ArchMatrix& matrix, const std::string& reproduce_command);

}  // namespace plumbline
