// Errors in recorded inputs, in problems and in suites that use them are reported with a remedy.
#include <gmock/gmock.h>

#include <fstream>

#include "harness/problem/recorded_inputs.h"
#include "harness/suite/suite.h"
#include "tests/inputs/recorded_file.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class RecordedErrorsTest : public RecordedInputsTest {
 protected:
  // Returns everything wrong with a recording, one "message
  // remedy" per entry.
  std::vector<std::string> complaints(const Recording& recording) {
    // a file is read only once
    const std::string file = "wrong" + std::to_string(++files_) + ".safetensors";
    recording.write(directory_ / file);
    std::vector<std::string> texts;
    const auto recorded = recorded_inputs(file);
    if (recorded) return texts;
    for (const Error& error : recorded.error()) {
      EXPECT_EQ(error.file, (directory_ / file).string());
      texts.push_back(error.message + " | " + error.remedy);
    }
    return texts;
  }
  Result<Suite> suite(const std::string& group) {
    const auto path = directory_ / "suite.toml";
    std::ofstream(path) << "schema = 1\nname = \"s\"\n[[group]]\nname = \"g\"\nreason = "
                           "\"r\"\nkernels = [\"cpu/*\"]\n"
                        << group;
    return read_suite(path);
  }

 private:
  int files_ = 0;
};

TEST_F(RecordedErrorsTest, Tensors) {
  EXPECT_THAT(
      complaints(Recording{}),
      UnorderedElementsAre(
          HasSubstr("there is no tensor q"), HasSubstr("there is no tensor k"),
          HasSubstr("there is no tensor v | q, k and v are [batch, seq, heads, head_dim]")));
  Recording recording = Recording::sample();
  recording.tensors["q"].dtype = DType::i32;
  recording.tensors["k"].shape = {2, 5, 12};
  EXPECT_THAT(complaints(recording), ElementsAre(HasSubstr("q is I32, which is not a float format"),
                                                 HasSubstr("k has shape [2, 5, 12]")));

  recording = Recording::sample();
  recording.tensors["k"].shape = {5, 2, 2, 6};
  recording.tensors["v"].shape = {2, 2, 5, 3};
  EXPECT_THAT(complaints(recording),
              AllOf(testing::Contains(HasSubstr("batch of q and k differ: 2 and 5")),
                    testing::Contains(HasSubstr("heads of k and v differ: 2 and 5"))));
  recording = Recording::sample();
  recording.add("q", {2, 5, 3, 6}, 0.001);
  EXPECT_THAT(complaints(recording),
              ElementsAre(HasSubstr("heads_kv 2 does not divide heads_q 3")));
  recording = Recording::sample();
  recording.add("v", {2, 5, 2, 0}, 1);
  EXPECT_THAT(complaints(recording), ElementsAre(HasSubstr("v has shape [2, 5, 2, 0]")));
}

TEST_F(RecordedErrorsTest, LengthsAndMetadata) {
  Recording recording = Recording::sample();
  recording.tensors["seqlens_q"].values = {5, 6};
  recording.tensors["seqlens_kv"].values = {-1, 3};
  EXPECT_THAT(complaints(recording), ElementsAre("seqlens_q[1] is 6 | lengths lie in 0 to 5",
                                                 "seqlens_kv[0] is -1 | lengths lie in 0 to 5"));
  recording.tensors["seqlens_q"] = {DType::i32, {3}, {1, 2, 3}};
  recording.tensors["seqlens_kv"] = {DType::f32, {2}, {1, 2}};
  EXPECT_THAT(complaints(recording),
              ElementsAre("seqlens_q is I32 [3] | it must be I32 or I64 [2], one per sample",
                          HasSubstr("seqlens_kv is F32 [2]")));

  recording = Recording::sample();
  recording.metadata = {{"mask", "causal"}, {"window", "3"}, {"scale", "nan"}, {"padding", "both"}};
  EXPECT_THAT(complaints(recording), ElementsAre(HasSubstr("padding: \"both\"")));
  recording.metadata.erase("padding");
  EXPECT_THAT(complaints(recording),
              ElementsAre(HasSubstr("mask: \"causal\""), HasSubstr("window: \"3\""),
                          HasSubstr("scale: \"nan\"")));
  recording.metadata = {{"layout", "ragged"}};
  EXPECT_THAT(complaints(recording),
              ElementsAre(HasSubstr("layout ragged cannot be read as recorded inputs yet")));
}

// If these parts were ignored, kernels would compute something else than the recorded model.
TEST_F(RecordedErrorsTest, UnsupportedPartsAreRefused) {
  Recording recording = Recording::sample();
  recording.add("attn_mask", {2, 1, 5, 5}, 1);
  recording.add("alibi_slopes", {4}, 1);
  recording.add("dout", {2, 5, 4, 3}, 1);
  recording.metadata["softcap"] = "30";
  EXPECT_THAT(complaints(recording),
              ElementsAre(HasSubstr("tensor attn_mask is part of the recorded call, but suites"),
                          HasSubstr("tensor alibi_slopes is part of the recorded call"),
                          HasSubstr("softcap = 30 is part of the recorded call")));
}

TEST_F(RecordedErrorsTest, InvalidOrMissingFile) {
  std::ofstream(directory_ / "text.safetensors") << "q, k and v";
  EXPECT_FALSE(recorded_inputs("text.safetensors"));
  const auto missing = recorded_inputs("missing.safetensors");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error()[0].message, AllOf(HasSubstr(std::filesystem::current_path().string()),
                                                HasSubstr(directory_.string())));
  EXPECT_THAT(missing.error()[0].remedy, HasSubstr("ci/capture.py"));
  ::unsetenv("PLUMBLINE_INPUTS");
  EXPECT_THAT(recorded_inputs("missing.safetensors").error()[0].message,
              HasSubstr("PLUMBLINE_INPUTS, which is not set"));
  EXPECT_THAT(recorded_inputs("/etc/hostname").error()[0].message,
              HasSubstr("means the same on every machine"));
}

TEST_F(RecordedErrorsTest, ProblemContradictsFile) {
  Recording::sample().write(directory_ / "held.safetensors");
  Problem problem;
  ASSERT_EQ(set_field(problem, "inputs", "held.safetensors"), std::nullopt);
  const std::string name = problem.inputs;
  problem.seq_kv = 64;
  problem.lengths = Lengths::random;
  problem.law = Law::peaky;
  problem.v_law = VLaw::grid;
  problem.k_scale = problem.v_scale = 2;
  EXPECT_THAT(validate(problem),
              ElementsAre("seq_kv is 64, but " + name + " holds 5: leave it out",
                          HasSubstr("lengths with inputs"), HasSubstr("law with inputs"),
                          HasSubstr("v_law with inputs"), HasSubstr("k_scale with inputs"),
                          HasSubstr("v_scale with inputs")));
}

TEST_F(RecordedErrorsTest, Suites) {
  Recording recording = Recording::sample();
  recording.metadata = {{"mask", "causal_top_left"}};
  recording.write(directory_ / "one.safetensors");
  recording.tensors["v"].values[0] = 9;
  recording.write(directory_ / "two.safetensors");

  const auto good = suite(
      "product = { inputs = [\"one.safetensors\", \"two.safetensors\"], dtype = [\"fp16\", "
      "\"fp32\"], mask = [\"none\", "
      "\"causal_top_left\"] }\n"
      "exclude = [{ inputs = \"one.safetensors\", mask = \"none\" }, { inputs = "
      "\"two.safetensors\", dtype = \"fp32\" }]\n");
  ASSERT_TRUE(good) << to_string(good.error());
  std::vector<std::string> ids;
  for (const SuiteCase& c : good->cases) ids.push_back(problem_id(c.problem));
  EXPECT_THAT(
      ids,
      ElementsAre(HasSubstr("fp16/b2-h4x2-s5-d6x3/mask=causal_top_left/inputs=one.safetensors@"),
                  HasSubstr("fp32/"), HasSubstr("fp16/b2-h4x2-s5-d6x3/inputs=two.safetensors@"),
                  HasSubstr("mask=causal_top_left/inputs=two")));

  const auto absent = suite("set = { inputs = \"absent.safetensors\" }\n");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error()[0].line, 7);
  EXPECT_THAT(absent.error()[0].message, AllOf(HasSubstr("there is no file \"absent.safetensors\""),
                                               HasSubstr("remedy: record it with ci/capture.py")));
  const auto other_shape = suite("set = { inputs = \"one.safetensors\", batch = 8 }\n");
  ASSERT_FALSE(other_shape);
  EXPECT_THAT(other_shape.error()[0].message, HasSubstr("batch is 8, but one.safetensors@"));
}

}  // namespace
}  // namespace plumbline
