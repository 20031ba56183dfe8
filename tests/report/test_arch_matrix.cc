// The matrix of architectures: which cases it compares, whether bits agree, and its output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/problem/problem.h"
#include "harness/report/arch_matrix.h"
#include "harness/store/stored.h"
#include "tests/report/samples.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

StoredOutcome on(const std::string& kernel, const std::string& device, DType dtype, int seq,
                 const std::string& digest, double percent) {
  StoredOutcome stored = passing_outcome();
  Outcome& outcome = stored.outcome;
  outcome.c.kernel = kernel;
  outcome.c.device = device;
  outcome.c.problem = Problem{};
  outcome.c.problem.dtype = dtype;
  outcome.c.problem.seq_q = outcome.c.problem.seq_kv = seq;
  outcome.case_id = case_id(outcome.c);
  outcome.description.tensor_cores = kernel.ends_with("_mma") ? "on" : "off";
  outcome.description.device_arch = device == "cuda:0" ? "sm_90" : "";
  outcome.output_digest = digest;
  stored.judgement.percent_of_limit = percent;
  return stored;
}

// Two kernels on four devices. On tensor cores the bits of sm_90 differ from those of sm_80 and
// equal those of the GPU. seq 32 was not measured on sm_100.
std::vector<StoredOutcome> four_devices() {
  std::vector<StoredOutcome> outcomes{passing_outcome()};  // on the CPU, so not in the matrix
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const char* device : {"emulated:sm_100", "emulated:sm_80", "emulated:sm_90", "cuda:0"}) {
      const std::string provider = device == std::string("cuda:0") ? "cuda/" : "emulated/";
      const bool old = device == std::string("emulated:sm_80");
      for (const int seq : {16, 32}) {
        if (seq == 32 && device == std::string("emulated:sm_100")) continue;
        outcomes.push_back(on(provider + "prefill_mma", device, dtype, seq,
                              old && seq == 16 ? "a" : "b", old ? 61.4 : 52.6 + seq));
        outcomes.push_back(on(provider + "prefill_simt", device, dtype, seq, "c", 40));
        if (device == std::string("emulated:sm_100"))
          outcomes.back().outcome.reused_from = "emulated/prefill_simt/…";
      }
    }
  }
  return outcomes;
}

TEST(ArchMatrix, UsesCasesCommonToAllDevices) {
  const ArchMatrix matrix = arch_matrix(four_devices());
  std::vector<std::string> devices;
  for (const auto& column : matrix.columns) devices.push_back(column.device + " " + column.arch);
  EXPECT_THAT(devices, ElementsAre("emulated:sm_80 sm_80", "emulated:sm_90 sm_90",
                                   "emulated:sm_100 sm_100", "cuda:0 sm_90"));
  ASSERT_EQ(matrix.rows.size(), 4U);
  EXPECT_EQ(matrix.rows[0].kernel, "prefill_mma");
  EXPECT_EQ(matrix.rows[0].dtype, "bf16");
  EXPECT_EQ(matrix.rows[0].tensor_cores, "on");
  EXPECT_EQ(matrix.rows[0].cases, 1U);  // seq 16
  EXPECT_EQ(matrix.rows[0].cells[1]->worst_percent, 68.6);
  EXPECT_EQ(matrix.left_out, 4U);
  EXPECT_EQ(matrix.reused, 2U);
}

TEST(ArchMatrix, ComparesNeighboursAndGpuWithEmulator) {
  const ArchMatrix matrix = arch_matrix(four_devices());
  std::vector<std::string> bits;
  for (const auto& b : matrix.bits) {
    bits.push_back(b.a + " " + b.b + " " + b.tensor_cores + " " + std::to_string(b.equal) + "/" +
                   std::to_string(b.common));
  }
  EXPECT_THAT(
      bits,
      ElementsAre("emulated:sm_80 emulated:sm_90 on 2/4", "emulated:sm_80 emulated:sm_90 off 4/4",
                  "emulated:sm_90 emulated:sm_100 on 2/2", "emulated:sm_90 emulated:sm_100 off 2/2",
                  "emulated:sm_90 cuda:0 on 4/4", "emulated:sm_90 cuda:0 off 4/4"));
  EXPECT_EQ(matrix.bits[0].first_case_a,
            "emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_80");
  EXPECT_EQ(matrix.bits[0].first_case_b,
            "emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_90");
  const auto all = compare_bits(four_devices(), "emulated:sm_80", "cuda:0");
  EXPECT_EQ(all.common, 8U);
  EXPECT_EQ(all.equal, 6U);
  EXPECT_EQ(compare_bits(four_devices(), "cuda:0", "cuda:1").common, 0U);
}

TEST(ArchMatrix, CrashedCaseHasNoBits) {
  std::vector<StoredOutcome> outcomes{
      on("emulated/prefill_mma", "emulated:sm_80", DType::f16, 16, "a", 50),
      on("emulated/prefill_mma", "emulated:sm_90", DType::f16, 16, "", 0)};
  outcomes[1].outcome.status = Status::crashed;
  outcomes[1].outcome.description = {};
  outcomes[1].judgement.verdict = Verdict::crashed;
  const ArchMatrix matrix = arch_matrix(outcomes);
  // The mode is the kernel's, because a crashed outcome has none.
  ASSERT_EQ(matrix.rows.size(), 1U);
  EXPECT_EQ(matrix.rows[0].cells[1]->failures, 1U);
  EXPECT_THAT(matrix.bits, IsEmpty());
  EXPECT_THAT(render_matrix(matrix, "plumbline run", {}), HasSubstr("did not run, 1 failure"));
}

TEST(ArchMatrix, RendersText) {
  EXPECT_EQ(render_matrix(arch_matrix(four_devices()), "plumbline run", Style{false, 120}),
            R"(worst percent of a limit
kernel        dtype  tensor cores  cases  emulated:sm_80  emulated:sm_90  emulated:sm_100  cuda:0 (sm_90)
------------  -----  ------------  -----  --------------  --------------  ---------------  --------------
prefill_mma   bf16   on                1            61 %            69 %             69 %            69 %
prefill_mma   fp16   on                1            61 %            69 %             69 %            69 %
prefill_simt  bf16   off               1            40 %            40 %             40 %            40 %
prefill_simt  fp16   off               1            40 %            40 %             40 %            40 %
4 cases missing on a device of their row: left out
2 outcomes reused from another architecture: without tensor cores the bits are equal, as a second architecture showed

output bits
a               b                tensor cores  cases  equal bits
--------------  ---------------  ------------  -----  ----------
emulated:sm_80  emulated:sm_90   on                4           2
emulated:sm_80  emulated:sm_90   off               4           4
emulated:sm_90  emulated:sm_100  on                2           2
emulated:sm_90  emulated:sm_100  off               2           2
emulated:sm_90  cuda:0           on                4           4
emulated:sm_90  cuda:0           off               4           4

emulated:sm_80 and emulated:sm_90, tensor cores on: 2 of 4 cases differ, first emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_90
reproduce: plumbline run --format json --case 'emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_80' --case 'emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_90'
)");
}

TEST(ArchMatrix, RendersMarkdown) {
  EXPECT_EQ(render_matrix_markdown(arch_matrix(four_devices()), "plumbline run"),
            R"(Worst percent of a limit:

| kernel | dtype | tensor cores | cases | emulated:sm\_80 | emulated:sm\_90 | emulated:sm\_100 | cuda:0 (sm\_90) |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |
| prefill\_mma | bf16 | on | 1 | 61 % | 69 % | 69 % | 69 % |
| prefill\_mma | fp16 | on | 1 | 61 % | 69 % | 69 % | 69 % |
| prefill\_simt | bf16 | off | 1 | 40 % | 40 % | 40 % | 40 % |
| prefill\_simt | fp16 | off | 1 | 40 % | 40 % | 40 % | 40 % |

4 cases missing on a device of their row: left out.

2 outcomes reused from another architecture: without tensor cores the bits are equal, as a second architecture showed.

Output bits:

| a | b | tensor cores | cases | equal bits |
| --- | --- | --- | ---: | ---: |
| emulated:sm\_80 | emulated:sm\_90 | on | 4 | 2 |
| emulated:sm\_80 | emulated:sm\_90 | off | 4 | 4 |
| emulated:sm\_90 | emulated:sm\_100 | on | 2 | 2 |
| emulated:sm\_90 | emulated:sm\_100 | off | 2 | 2 |
| emulated:sm\_90 | cuda:0 | on | 4 | 4 |
| emulated:sm\_90 | cuda:0 | off | 4 | 4 |

```text
emulated:sm_80 and emulated:sm_90, tensor cores on: 2 of 4 cases differ, first emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_90
reproduce: plumbline run --format json --case 'emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_80' --case 'emulated/prefill_mma/bf16/b1-h1-s16-d64/device=emulated:sm_90'
```

)");
}

TEST(ArchMatrix, RendersJson) {
  const auto json =
      nlohmann::json::parse(json_of_matrix(arch_matrix(four_devices()), "plumbline run"));
  EXPECT_EQ(json["devices"][3]["device"], "cuda:0");
  EXPECT_EQ(json["rows"][0]["cells"]["emulated:sm_80"]["worst_percent"], 61.4);
  EXPECT_EQ(json["bits"][0]["common"], 4);
  EXPECT_EQ(json["bits"][0]["equal"], 2);
  EXPECT_THAT(json["bits"][0]["first_different"]["reproduce"].get<std::string>(),
              testing::StartsWith("plumbline run --format json --case"));
  EXPECT_FALSE(json["bits"][1].contains("first_different"));
}

TEST(ArchMatrix, InSummaryOfMultiArchRun) {
  SampleRun sample = mixed_run();
  EXPECT_THAT(render_markdown(sample.report(1)), Not(HasSubstr("### Architectures")));
  sample.outcomes = four_devices();
  EXPECT_THAT(render_markdown(sample.report(0)), Not(HasSubstr("### Architectures")));
  sample.outcomes.push_back(failing_outcome());
  EXPECT_THAT(render_markdown(sample.report(1)),
              HasSubstr("### Architectures\n\nWorst percent of a limit:"));
}

}  // namespace
}  // namespace plumbline
