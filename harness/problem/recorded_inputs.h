// Recorded inputs: q, k and v of a real model, read from a safetensors file. They stand in the
// place of values that a law generates; docs/capture.md says how to make such a file.
//
// A problem names its file as "NAME@DIGEST": NAME as the suite writes it, DIGEST 8 hex digits of an
// XXH3-128 of its values. A layer that is recorded anew with other bits (another version of the
// framework is enough) asks another question: it has other case ids, so that its outputs are never
// compared with the past of the old ones.
//
// The file: q [b, s, h, d], k and v [b, s, h, d], each F64, F32, F16, BF16 or fp8, and optionally
// seqlens_q and seqlens_kv [b] (I32 or I64; absent: every sample is full). Metadata, all optional:
// layout (padded_bshd, or padded_bhsd: then the tensors are [b, h, s, d]), padding (right or left:
// where the padding lies), mask, window ("l,r") and scale as the words of a suite. Outputs and
// tensors of unknown names are ignored, so that the same file can be a dump for `plumbline check`;
// what changes the question and no suite states (a mask, a bias, …) is an error.
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

// What a file says about its tensors.
struct RecordedInputs {
  std::string name;            // "NAME@DIGEST"
  std::filesystem::path path;  // where it was found
  std::string digest;          // XXH3-128 of q, k, v, their shapes and lengths, 32 hex digits
  Problem
      // batch, heads, lengths, dimensions, mask, window and scale as recorded; `inputs` is `name`
      shape;
  SampleLengths lengths;
  Layout layout = Layout::padded_bshd;  // of the tensors in the file
  Padding padding = Padding::right;     // likewise
};

// Finds "NAME" or "NAME@DIGEST": NAME (never absolute, so that ids hold no path of one machine)
// from the current directory, then from the directory named by the environment's PLUMBLINE_INPUTS.
// Each file is read once in the life of the process, so that all cases of a run mean the same bits.
// Thread-safe. Errors name the places looked at, or the file and what is wrong with it, with a
// remedy.
Result<std::shared_ptr<const RecordedInputs>> recorded_inputs(std::string_view name);

// Gives the problem the shape, mask, window, scale and name of the file.
void adopt(Problem& problem, const RecordedInputs& recorded);
// What in the problem contradicts its file: another shape, a law, another digest, no such file.
// Empty if all is well or nothing is recorded.
std::vector<std::string> contradictions(const Problem& problem);

// As recorded_inputs, for problems that were validated: throws std::runtime_error where the file
// cannot be read any more.
std::shared_ptr<const RecordedInputs> recorded_inputs_of(const Problem& problem);

// The values, in memory.
class RecordedValues {
 public:
  // Reads the file anew. Throws std::runtime_error where it is gone or is not the one that was
  // validated.
  explicit RecordedValues(std::shared_ptr<const RecordedInputs> recorded);

  RecordedValues(const RecordedValues&) = delete;  // q, k and v point into file_
  RecordedValues& operator=(const RecordedValues&) = delete;

  struct Tensor {
    const TensorData* data = nullptr;
    DType dtype = DType::none;
    std::int64_t heads = 0, rows = 0, dims = 0;          // rows of padding included
    const std::vector<std::int32_t>* lengths = nullptr;  // [batch]: how many of the rows are valid
  };
  const Tensor& q() const { return q_; }
  const Tensor& k() const { return k_; }
  const Tensor& v() const { return v_; }

  // Row `row` (of the sample's valid rows) of a head, rounded once to `dtype`.
  void copy_row(const Tensor& tensor, std::int64_t sample, std::int64_t head, std::int64_t row,
                DType dtype, std::byte* to) const;

 private:
  Tensor tensor(const std::string& tensor_name, const std::vector<std::int32_t>& lengths) const;

  std::shared_ptr<const RecordedInputs> recorded_;
  SafetensorsFile file_;
  Tensor q_, k_, v_;
};

}  // namespace plumbline
