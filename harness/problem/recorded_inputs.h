// Recorded inputs: q, k and v of a real model, read from a safetensors file, in the place of
// generated values. docs/capture.md explains how to make such a file.
//
// A problem names its file as "NAME@DIGEST": NAME as the suite writes it, DIGEST 8 hex digits of
// an XXH3-128 of its values. A layer recorded again with other bits (another version of the
// framework is enough) is another problem. It has other case ids, so its outputs are never compared
// with those of the old bits.
//
// The file: q [b, s, h, d], k and v [b, s, h, d], each F64, F32, F16, BF16 or fp8, and optionally
// seqlens_q and seqlens_kv [b] (I32 or I64; if absent, every sample is full). Metadata, all
// optional: layout (padded_bshd, or padded_bhsd: then the tensors are [b, h, s, d]), padding (right
// or left: the side of the padding), mask, window ("l,r") and scale as in a suite. Outputs and
// tensors with unknown names are ignored, so that the same file can be a dump for `plumbline
// check`. Parts of the call that no suite can state (a mask, a bias, …) are an error.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/problem/lengths.h"
#include "harness/problem/problem.h"
#include "harness/problem/safetensors.h"

namespace plumbline {

// The description of a recording's tensors.
struct RecordedInputs {
  std::string name;            // "NAME@DIGEST"
  std::filesystem::path path;  // where the file was found
  std::string digest;          // XXH3-128 of q, k, v, lengths, layout and padding, 32 hex digits
  // batch, heads, lengths, dimensions, mask, window and scale as recorded; `inputs` is `name`
  Problem shape;
  SampleLengths lengths;
  Layout layout = Layout::padded_bshd;  // in the file
  Padding padding = Padding::right;     // in the file
};

// Returns the DIGEST of "NAME@DIGEST", 8 hex digits of RecordedInputs::digest; "" if it has none.
std::string_view digest_of_recording(std::string_view name);

// Finds "NAME" or "NAME@DIGEST": NAME (never absolute, so that ids contain no path of one machine)
// in the current directory, then in the directory $PLUMBLINE_INPUTS. Each file is read once per
// process, so that all cases of a run use the same bits. Thread-safe. Errors name the directories
// searched, or the file and what is wrong with it, with a remedy.
Result<std::shared_ptr<const RecordedInputs>> recorded_inputs(std::string_view name);

// Sets the problem's shape, mask, window, scale and inputs from the file.
void adopt(Problem& problem, const RecordedInputs& recorded);
// Returns the contradictions of the problem with its file: another shape, a law, another digest, no
// such file. Empty if there are none, or if the inputs are not recorded.
std::vector<std::string> contradictions(const Problem& problem);

// Like recorded_inputs, for validated problems. Throws std::runtime_error if the file can no longer
// be read.
std::shared_ptr<const RecordedInputs> recorded_inputs_of(const Problem& problem);

// The values, in memory.
class RecordedValues {
 public:
  // Reads the file again. Throws std::runtime_error if it is missing or is not the validated one.
  explicit RecordedValues(std::shared_ptr<const RecordedInputs> recorded);

  RecordedValues(const RecordedValues&) = delete;  // q, k and v point into file_
  RecordedValues& operator=(const RecordedValues&) = delete;

  struct Tensor {
    const TensorData* data = nullptr;
    DType dtype = DType::none;
    std::int64_t heads = 0, rows = 0, dims = 0;          // including rows of padding
    const std::vector<std::int32_t>* lengths = nullptr;  // [batch]: number of valid rows
  };
  const Tensor& q() const { return q_; }
  const Tensor& k() const { return k_; }
  const Tensor& v() const { return v_; }

  // Copies row `row` (of the sample's valid rows) of a head, rounded once to `dtype`.
  void copy_row(const Tensor& tensor, std::int64_t sample, std::int64_t head, std::int64_t row,
                DType dtype, std::byte* to) const;

 private:
  Tensor tensor(const std::string& tensor_name, const std::vector<std::int32_t>& lengths) const;

  std::shared_ptr<const RecordedInputs> recorded_;
  SafetensorsFile file_;
  Tensor q_, k_, v_;
};

}  // namespace plumbline
