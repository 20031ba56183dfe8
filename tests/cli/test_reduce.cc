// `plumbline reduce`: planted errors shrink to cases that a person can follow.
#include <gmock/gmock.h>

#include <regex>
#include <vector>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using test::cpu_provider;
using testing::HasSubstr;

class ReduceCommand : public test::CommandTest {
 protected:
  static int number_of(const std::string& text, const std::string& field) {
    std::smatch match;
    return std::regex_search(text, match, std::regex(field + " = ([0-9]+)")) ? std::stoi(match[1])
                                                                             : -1;
  }
};

TEST_F(ReduceCommand, PlantedErrorsShrinkToFewKeys) {
  for (const std::string options :
       {"drop_last_key=1", "mask=off_by_one", "mask=one_key_few", "scale=1.05"}) {
    const std::string provider = "--provider '" + cpu_provider(options) + "'";
    const std::string large =
        "cpu/flash/bf16/b3-h8x2-s20x300-d64/mask=causal_bottom_right/layout=paged_nhd/"
        "lengths=random/law=llm/seed=3";
    const auto reduced = plumbline("reduce -q " + provider + " '" + large + "'");
    ASSERT_EQ(reduced.code, 0) << reduced.text;
    EXPECT_THAT(reduced.text, HasSubstr("reason = \"fail: error beyond its limit\""));
    const int keys = number_of(reduced.text, "seq_kv");
    EXPECT_GE(keys, 1) << reduced.text;
    EXPECT_LE(keys, 64) << reduced.text;
    EXPECT_EQ(number_of(reduced.text, "heads_q"), 1) << reduced.text;

    // The printed command repeats the failure, and the printed group is valid in a suite.
    const std::size_t line = reduced.text.find("reproduce: ") + 11;
    EXPECT_EQ(shell(reduced.text.substr(line, reduced.text.find('\n', line) - line)).code, 1);
    const std::size_t group = reduced.text.find("[[group]]");
    write("reduced.toml", "schema = 1\nname = \"reduced\"\n" +
                              reduced.text.substr(group, reduced.text.find("reproduce: ") - group));
    EXPECT_EQ(plumbline("run -q --no-store reduced.toml " + provider).code, 1);
  }
}

// The example of docs/start: one key is left out, and the smallest case still has this cause.
TEST_F(ReduceCommand, KeepsCause) {
  const std::string id = "cpu/flash/bf16/b1-h4x1-s1x300-d64",
                    provider = " --provider '" + cpu_provider("drop_last_key=1") + "'";
  const std::string sentence = "each sample's last key were not seen";
  ASSERT_THAT(plumbline("run --case " + id + provider).text, HasSubstr(sentence));
  const auto reduced = plumbline("reduce -q " + id + provider);
  ASSERT_EQ(reduced.code, 0) << reduced.text;
  EXPECT_THAT(reduced.text, HasSubstr("cause: would be explained if " + sentence));
  EXPECT_GE(number_of(reduced.text, "seq_kv"), 2) << reduced.text;
  EXPECT_LE(number_of(reduced.text, "seq_kv"), 64) << reduced.text;
  const std::size_t line = reduced.text.find("reproduce: ") + 11;
  const auto again = shell(reduced.text.substr(line, reduced.text.find('\n', line) - line));
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.text, HasSubstr(sentence));
}

// Ten known bugs of different classes, from one large case. Bugs in merging splits are absent: they
// need the 257 keys of two splits.
TEST_F(ReduceCommand, MutantsShrinkToSixtyFourKeys) {
  const auto library =
      (test::build_directory / "lib" / "plumbline" / "plumbline_mutants.so").string();
  for (const std::string mutant :
       {"softmax_output_not_rescaled", "softmax_log2e_missing", "mask_causal_top_left",
        "mask_drops_last_key", "index_page_size_fixed", "index_length_of_longest", "head_modulo",
        "mask_drops_tail", "precision_scale_one_percent", "memory_last_rows_unwritten"}) {
    const auto reduced = plumbline("reduce -q --provider '" + library + "' 'mutants/" + mutant +
                                   "/bf16/b3-h8x2-s20x520-d64/mask=causal_bottom_right/"
                                   "layout=paged_nhd/lengths=random/page=32/seed=3'");
    ASSERT_EQ(reduced.code, 0) << mutant << ": " << reduced.text;
    const int keys = number_of(reduced.text, "seq_kv");
    EXPECT_LE(keys, 64) << mutant << ": " << reduced.text;
    EXPECT_GE(keys, 1) << reduced.text;
  }
}

// Bugs that need one feature each: the feature stays, and the printed group has exactly the case of
// the printed command.
TEST_F(ReduceCommand, KeepsRequiredFeature) {
  struct Row {
    std::string mutant, features, kept;
  };
  const auto library =
      (test::build_directory / "lib" / "plumbline" / "plumbline_mutants.so").string();
  for (const Row& row : std::vector<Row>{
           {"softcap_ignored", "/softcap=2", "softcap = 2"},
           {"alibi_signed", "/alibi=random", "alibi = \"random\""},
           {"alibi_slopes_of_power_of_two", "/alibi=standard", "alibi = \"standard\""},
           {"sink_missing_in_lse", "/sinks=large", "sinks = \"large\""},
           {"mask_bits_reversed", "/mask=custom", "mask = \"custom\""},
           {"mask_bits_prefix_one_less", "/mask=prefix_lm", "mask = \"prefix_lm\""},
           {"mask_bits_run_one_early", "/mask=block_diagonal", "mask = \"block_diagonal\""},
           {"fp8_k_scale_forgotten", "/kv=e4m3", "kv_dtype = \"e4m3\""},
           {"fp8_e5m2_as_e4m3", "/kv=e5m2", "kv_dtype = \"e5m2\""},
           {"index_packed_v_at_k", "/view=packed_kv", "view = \"packed_kv\""},
           {"index_packed_v_after_q_heads", "/view=packed_qkv", "view = \"packed_qkv\""},
           {"index_v_at_end_of_k", "/view=v_in_k", "view = \"v_in_k\""},
       }) {
    const std::string provider = "--provider '" + library + "'";
    const bool v_in_k = row.features == "/view=v_in_k";
    const auto reduced =
        plumbline("reduce -q " + provider + " 'mutants/" + row.mutant + "/bf16/b2-h6x2-s70-d" +
                  (v_in_k ? "96x64" : "64") + row.features + "/seed=3'");
    ASSERT_EQ(reduced.code, 0) << row.mutant << ": " << reduced.text;
    EXPECT_THAT(reduced.text, HasSubstr(row.kept)) << row.mutant;
    const std::size_t group = reduced.text.find("[[group]]"),
                      line = reduced.text.find("reproduce: ");
    const std::size_t id = reduced.text.find("mutants/", reduced.text.find("--case ", line));
    write("reduced.toml",
          "schema = 1\nname = \"reduced\"\n" + reduced.text.substr(group, line - group));
    const auto listed = plumbline("list reduced.toml " + provider);
    EXPECT_EQ(listed.code, 0) << listed.text;
    EXPECT_THAT(listed.text,
                HasSubstr(reduced.text.substr(id, reduced.text.find('\'', id) - id) + "\n"))
        << reduced.text;
  }
}

TEST_F(ReduceCommand, PassingCaseIsRefused) {
  const auto fine = plumbline("reduce cpu/flash/bf16/b1-h1-s4x8-d64");
  EXPECT_EQ(fine.code, 4);
  EXPECT_THAT(fine.text, HasSubstr("does not fail: there is nothing to reduce"));
  EXPECT_EQ(plumbline("reduce cpu/nothing/bf16/b1-h1-s4x8-d64").code, 2);
  EXPECT_EQ(plumbline("reduce not-a-case").code, 2);
  EXPECT_THAT(plumbline("reduce --help").text, HasSubstr("Example:"));
}

}  // namespace
}  // namespace plumbline
