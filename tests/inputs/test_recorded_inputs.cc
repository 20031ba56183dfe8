// Problems take their shapes from recorded inputs, and every layout and dtype gets the recorded
// values.
#include <gmock/gmock.h>

#include <fstream>
#include <tuple>

#include "harness/problem/recorded_inputs.h"
#include "tests/inputs/filled.h"
#include "tests/inputs/recorded_file.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Problem problem_of(const std::string& name) {
  Problem problem;
  const auto message = set_field(problem, "inputs", name);
  EXPECT_EQ(message, std::nullopt) << *message;
  return problem;
}

// Returns the valid rows of the sample recording in the order of Filled::valid(), each rounded once
// to the dtype.
std::vector<float> expected_rows(const Recording& recording, DType dtype) {
  std::vector<float> all;
  const auto append = [&](const char* name, std::int64_t sample, std::int64_t row,
                          std::int64_t head) {
    const auto& [format, shape, values] = recording.tensors.at(name);
    const std::int64_t first = ((sample * shape[1] + row) * shape[2] + head) * shape[3];
    for (std::int64_t d = 0; d < shape[3]; ++d) {
      const double in_file = round_to(values[static_cast<std::size_t>(first + d)], format);
      all.push_back(static_cast<float>(round_to(in_file, dtype)));
    }
  };
  const std::array<std::int64_t, 2> lengths{5, 3};
  for (std::int64_t sample = 0; sample < 2; ++sample) {
    const std::int64_t rows = lengths[static_cast<std::size_t>(sample)];
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t head = 0; head < 4; ++head) append("q", sample, row, head);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t head = 0; head < 2; ++head)
        append("k", sample, row, head), append("v", sample, row, head);
    }
  }
  return all;
}

TEST_F(RecordedInputsTest, FileSetsShapeMaskWindowScale) {
  Recording recording = Recording::sample();
  recording.metadata = {
      {"mask", "causal_bottom_right"}, {"window", "2,-1"}, {"scale", "0.25"}, {"model", "any"}};
  recording.write(directory_ / "shape.safetensors");
  const Problem problem = problem_of("shape.safetensors");
  EXPECT_THAT(problem_id(problem),
              testing::MatchesRegex("bf16/b2-h4x2-s5-d6x3/mask=causal_bottom_right/window=2,-1/"
                                    "inputs=shape.safetensors@[0-9a-f]+/scale=0.25"));
  EXPECT_THAT(validate(problem), IsEmpty());
  EXPECT_EQ(parse_problem_id(problem_id(problem)).value(), problem);
  EXPECT_THAT(Geometry(problem).seqlens_q, ElementsAre(5, 3));
  EXPECT_THAT(Geometry(problem).seqlens_kv, ElementsAre(5, 3));
  EXPECT_TRUE(has_field(problem, "inputs", "shape.safetensors"));
  EXPECT_TRUE(has_field(problem, "inputs", problem.inputs));
  EXPECT_FALSE(has_field(problem, "inputs", "shape"));
}

TEST_F(RecordedInputsTest, DefaultScaleIsLeftOut) {
  Recording recording = Recording::sample();
  recording.metadata = {{"scale", "0.40824829046386301"}};  // 6 ** -0.5
  recording.write(directory_ / "scale.safetensors");
  EXPECT_EQ(problem_of("scale.safetensors").scale, 0);
}

TEST_F(RecordedInputsTest, RecordedRowsInEveryLayoutAndDtype) {
  const Recording recording = Recording::sample();
  recording.write(directory_ / "values.safetensors");
  Problem problem = problem_of("values.safetensors");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Layout layout : {Layout::padded_bshd, Layout::padded_bhsd, Layout::ragged,
                                Layout::paged_nhd, Layout::paged_hnd}) {
      for (const Padding padding : {Padding::right, Padding::left}) {
        problem.dtype = dtype;
        problem.layout = layout;
        problem.padding = padding;
        problem.page_size = 2;
        problem.fill = Fill::nan;
        if (!validate(problem).empty()) continue;  // left padding in a layout without padding
        EXPECT_EQ(Filled(problem).valid(), expected_rows(recording, dtype)) << problem_id(problem);
      }
    }
  }
}

TEST_F(RecordedInputsTest, FilesOfEveryFloatFormatAreRead) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2}) {
    Recording recording = Recording::sample();
    for (const char* tensor : {"q", "k", "v"}) recording.tensors[tensor].dtype = dtype;
    const std::string file = std::string(name(dtype)) + ".safetensors";
    recording.write(directory_ / file);
    Problem problem = problem_of(file);
    problem.dtype = DType::f32;
    EXPECT_EQ(Filled(problem).valid(), expected_rows(recording, DType::f32)) << file;
  }
}

// 1 + 2^-8 + 2^-40 is above the midpoint of two bf16 numbers. Through fp32 it would be rounded to
// the midpoint, and then to the even neighbour 1.
TEST_F(RecordedInputsTest, DoublesAreRoundedOnce) {
  Recording recording = Recording::sample();
  recording.tensors["v"].dtype = DType::f64;
  recording.tensors["v"].values[0] = 1 + 0x1p-8 + 0x1p-40;
  recording.write(directory_ / "twice.safetensors");
  EXPECT_EQ(Filled(problem_of("twice.safetensors")).value(0, 0, 0)[0], 1 + 0x1p-7F);
}

TEST_F(RecordedInputsTest, LeftPaddedBhsdFile) {
  const Recording plain = Recording::sample();
  Recording moved = plain;
  moved.metadata = {{"layout", "padded_bhsd"}, {"padding", "left"}};
  const std::array<std::int64_t, 2> lengths{5, 3};
  for (auto& [name, tensor] : moved.tensors) {
    if (tensor.shape.size() != 4) continue;
    const auto [batch, rows, heads, dims] =
        std::tie(tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]);
    const std::vector<double> values = tensor.values;
    std::fill(tensor.values.begin(), tensor.values.end(), -99);
    for (std::int64_t sample = 0; sample < batch; ++sample) {
      const std::int64_t length = lengths[static_cast<std::size_t>(sample)];
      for (std::int64_t i = 0; i < length * heads * dims; ++i) {
        const std::int64_t row = i / (heads * dims), head = i / dims % heads, d = i % dims;
        const std::int64_t to = ((sample * heads + head) * rows + rows - length + row) * dims + d;
        tensor.values[static_cast<std::size_t>(to)] =
            values[static_cast<std::size_t>(sample * rows * heads * dims + i)];
      }
    }
    std::swap(tensor.shape[1], tensor.shape[2]);
  }
  moved.write(directory_ / "moved.safetensors");
  Problem problem = problem_of("moved.safetensors");
  EXPECT_EQ(Filled(problem).valid(), expected_rows(plain, problem.dtype));
}

TEST_F(RecordedInputsTest, MissingLengthsMeanFullSamples) {
  Recording recording = Recording::sample();
  recording.tensors.erase("seqlens_q");
  recording.tensors.erase("seqlens_kv");
  recording.write(directory_ / "full.safetensors");
  EXPECT_THAT(Geometry(problem_of("full.safetensors")).seqlens_kv, ElementsAre(5, 5));
}

TEST_F(RecordedInputsTest, AnotherRecordingIsAnotherProblem) {
  Recording recording = Recording::sample();
  recording.write(directory_ / "a.safetensors");
  recording.metadata["versions"] = "another";
  recording.write(directory_ / "same.safetensors");
  recording.tensors["v"].values[0] += 1;
  recording.write(directory_ / "b.safetensors");
  const Problem a = problem_of("a.safetensors"), b = problem_of("b.safetensors");
  EXPECT_NE(a.inputs.substr(1), b.inputs.substr(1)) << "the digests differ";
  EXPECT_EQ(problem_of("same.safetensors").inputs.substr(4), a.inputs.substr(1))
      << "the same values";
  EXPECT_NE(problem_digest(a), problem_digest(b));
  EXPECT_EQ(problem_digest(a), problem_digest(a));

  Problem mistaken = b;
  mistaken.inputs = "b" + a.inputs.substr(1);
  EXPECT_THAT(validate(mistaken), ElementsAre(testing::AllOf(HasSubstr("the file's digest is"),
                                                             HasSubstr("another recording"))));
  mistaken.inputs = "b.safetensors";
  EXPECT_THAT(validate(mistaken),
              ElementsAre("inputs: \"b.safetensors\" must be written " + b.inputs));
}

TEST_F(RecordedInputsTest, NamesWithAnyByteParseBack) {
  std::filesystem::create_directories(directory_ / "run 1");
  const std::string name = "run 1/50% ä=b.safetensors";
  Recording::sample().write(directory_ / name);
  const Problem problem = problem_of(name);
  EXPECT_THAT(problem_id(problem), HasSubstr("/inputs=run%201%2F50%25%20%C3%A4%3Db.safetensors@"));
  const auto c = parse_case_id("cpu/flash/" + problem_id(problem) + "/device=cuda:0");
  ASSERT_TRUE(c) << to_string(c.error());
  EXPECT_EQ(c->problem, problem);
  for (const char* malformed : {"", "%", "%2", "%2g", "%41", "a b", "a%2f"}) {
    EXPECT_FALSE(parse_problem_id(std::string("bf16/b1-h1-s1-d64/inputs=") + malformed))
        << malformed;
  }
}

TEST_F(RecordedInputsTest, MissingOrChangedFileThrows) {
  const auto path = directory_ / "gone.safetensors";
  Recording recording = Recording::sample();
  recording.write(path);
  const Problem problem = problem_of("gone.safetensors");
  recording.tensors["q"].values[0] = 7;
  recording.write(path);
  EXPECT_THAT([&] { Filled{problem}; }, testing::ThrowsMessage<std::runtime_error>(
                                            HasSubstr("has changed since this run began")));
  std::filesystem::remove(path);
  EXPECT_THROW(Filled{problem}, std::runtime_error);

  Problem never = problem;
  never.inputs = "never.safetensors@01234567";
  EXPECT_THAT([&] { Geometry{never}; }, testing::ThrowsMessage<std::runtime_error>(
                                            HasSubstr("there is no file \"never.safetensors\"")));
  EXPECT_THROW(problem_digest(never), std::runtime_error);
}

}  // namespace
}  // namespace plumbline
