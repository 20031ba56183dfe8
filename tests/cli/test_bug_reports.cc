// Small inputs re-created from public bug reports, and plumbline's verdict on each. No verdict may
// become greener. The inputs are in shared/data next to the repository; PLUMBLINE_DATA names
// another folder.
#include <gmock/gmock.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct BugReport {
  const char* name;
  const char* command;
  int code;
  const char* first;  // start of the output
  const char* later = "";
  const char* also = "";
};
void PrintTo(const BugReport& report, std::ostream* out) { *out << report.name; }

class BugReports : public test::CommandTest, public testing::WithParamInterface<BugReport> {};

TEST_P(BugReports, VerdictMatchesReport) {
  const BugReport& report = GetParam();
  const char* const data = std::getenv("PLUMBLINE_DATA");
  const auto folder = (data != nullptr ? std::filesystem::path(data)
                                       : test::source_directory.parent_path() / "shared" / "data") /
                      "bug-reports";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << folder << " is missing: set PLUMBLINE_DATA to the folder that has it";
  std::string command = report.command;
  if (const auto at = command.find("CASES"); at != std::string::npos)
    command.replace(at, 5, "'" + (test::source_directory / "cases").string() + "'");
  if (command.find(".py") != std::string::npos &&
      !std::filesystem::exists(test::source_directory / ".venv" / "bin" / "python"))
    GTEST_SKIP() << "there is no .venv: run ci/setup.sh --python";
  const auto result = plumbline(command, "cd '" + folder.string() + "' && ");
  EXPECT_EQ(result.code, report.code) << result.text;
  EXPECT_THAT(result.text, StartsWith(report.first));
  // Lines may be wrapped anywhere.
  const std::string text = std::regex_replace(result.text, std::regex("\\s+"), " ");
  EXPECT_THAT(text, HasSubstr(report.later));
  EXPECT_THAT(text, HasSubstr(report.also));
}

// Dumps that cannot be judged yet stay undecided.
constexpr BugReport dumps[] = {
    {"block_mask_rows", "check block_mask_rows.safetensors", 1, "BUG: rows 32 to 126 of 128",
     "all 256"},
    {"block_mask_rows_legal", "check block_mask_rows_legal.safetensors", 0, "ROUNDING", "all 256"},
    {"context_parallel", "check context_parallel.safetensors", 1, "BUG: rows ",
     "answer as if they saw no key"},
    {"context_parallel_legal", "check context_parallel_legal.safetensors", 0, "ROUNDING"},
    {"dropout_legal", "check dropout_legal.safetensors", 5,
     "UNDECIDED: dropout_mask and dropout_p"},
    {"fp8_latent_cache", "check fp8_latent_cache.safetensors", 1, "BUG: columns 512 to 575 of K"},
    {"fp8_latent_cache_legal", "check fp8_latent_cache_legal.safetensors", 0, "ROUNDING",
     "which rounds K and V to bf16 after their scales"},
    {"fp8_latent_cache_legal_as_stated",
     "check fp8_latent_cache_legal.safetensors --spec kv_dequantized_to=bf16", 0, "ROUNDING"},
    {"gradients", "check gradients.safetensors", 5, "UNDECIDED: nothing judges gradients yet",
     "dk, dout, dq and dv"},
    {"gradients_legal", "check gradients_legal.safetensors", 5, "UNDECIDED", "dk, dout, dq and dv"},
    {"hidden_nan", "check hidden_nan.safetensors", 1, "BUG: NaN of keys that no row sees"},
    {"hidden_nan_legal", "check hidden_nan_legal.safetensors", 0, "ROUNDING"},
    {"in_batch_tf32", "diff in_batch_tf32.safetensors alone_legal.safetensors", 0, "ROUNDING"},
    {"one_element", "check one_element.safetensors", 1, "BUG: one element is wrong"},
    {"other_fp8", "check other_fp8.safetensors", 1, "BUG: K and V are half as large",
     "e4m3 read as e4m3fnuz"},
    {"other_fp8_legal", "check other_fp8_legal.safetensors", 0, "ROUNDING"},
    {"smoothed_k_lse", "check smoothed_k_lse.safetensors", 1,
     "BUG: only the LSE is wrong: it lacks scale q . mean(K)"},
    {"smoothed_k_lse_legal", "check smoothed_k_lse_legal.safetensors", 0, "ROUNDING"},
    {"two_elements", "check two_elements.safetensors", 1, "BUG: 2 elements are wrong",
     "column 116 of row 0, head 2, sample 0; column 224 of row 0, head 2, sample 0"},
    {"two_elements_legal", "check two_elements_legal.safetensors", 0, "ROUNDING"},
};

#define RUN(suite, provider) \
  "run " suite ".toml -q --no-store --no-default-provider --provider " provider " --kernel '*'"
constexpr BugReport kernels[] = {
    {"every_second_call", RUN("own", "every_second_call.py:bug"), 1, "",
     "the second call (the same plan again) gave nan"},
    {"every_second_call_legal", RUN("own", "every_second_call.py"), 0, ""},
    {"plan_state", RUN("own", "plan_state.py:bug"), 1, "",
     "the second call (the same plan again) gave nan"},
    {"plan_state_legal", RUN("own", "plan_state.py"), 0, ""},
    {"page_number", RUN("own", "page_number.py:bug"), 1, "",
     "page numbers were taken modulo 65536"},
    {"page_number_legal", RUN("own", "page_number.py"), 0, ""},
    {"key_mask", RUN("own", "key_mask.py:bug"), 1, "", "padded keys from key 512 on were visible"},
    {"key_mask_legal", RUN("own", "key_mask.py"), 0, ""},
    {"group_tile", RUN("group_tile", "group_tile.py:bug"), 1, "", "reads key head 0 instead of 1"},
    {"group_tile_legal", RUN("group_tile", "group_tile.py"), 0, ""},
    {"token_offset", RUN("token_offset", "token_offset.py:bug"), 1, "", "cases: 3 fail",
     "on are read from elsewhere: K is zero there, where key * stride passes 2^31 elements"},
    {"token_offset_legal", RUN("token_offset", "token_offset.py"), 0, ""},
};
#undef RUN

// Nightly finds each of these bugs in one group of cases/reach.toml; the filters keep the test
// cheap.
#define REACH(chosen, provider)                                                   \
  "run CASES/reach.toml -q --no-store --no-default-provider --provider " provider \
  " --kernel '*' --match 'reach/" chosen
constexpr BugReport in_nightly[] = {
    {"page_number", REACH("page_numbers/*bf16*70000*'", "page_number.py:bug"), 1, "",
     "cases: 2 fail"},
    {"page_number_legal", REACH("page_numbers/*bf16*70000*'", "page_number.py"), 0, ""},
    {"key_mask", REACH("long_padded_cache/*bf16*' --exclude '*padding=left*'", "key_mask.py:bug"),
     1, "", "cases: 8 fail"},
    {"key_mask_legal", REACH("long_padded_cache/*bf16*' --exclude '*padding=left*'", "key_mask.py"),
     0, ""},
    {"group_tile", REACH("wide_groups/*bf16*s1x100*'", "group_tile.py:bug"), 1, "",
     "cases: 4 fail"},
    {"group_tile_legal", REACH("wide_groups/*bf16*s1x100*'", "group_tile.py"), 0, ""},
    {"token_offset", REACH("tokens_far_apart/*'", "token_offset.py:bug"), 1, "", "cases: 6 fail"},
    {"token_offset_legal", REACH("tokens_far_apart/*'", "token_offset.py"), 0, ""},
};
#undef REACH

const auto name_of = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Dumps, BugReports, testing::ValuesIn(dumps), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, BugReports, testing::ValuesIn(kernels), name_of);
INSTANTIATE_TEST_SUITE_P(Nightly, BugReports, testing::ValuesIn(in_nightly), name_of);

}  // namespace
}  // namespace plumbline
