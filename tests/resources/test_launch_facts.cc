// Tests the reading of NAME.launch.toml, and story S4's prediction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/resources/launch_facts.h"
#include "tests/resources/recorded.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string complaint(const std::string& text) {
  const auto facts = parse_launch_facts(text, "x.launch.toml");
  return facts ? "no error" : to_string(facts.error());
}

TEST(LaunchFacts, TilesAndDefaults) {
  const auto facts = parse_launch_facts(recorded::small_tile_launch, "x");
  ASSERT_TRUE(facts) << to_string(facts.error());
  ASSERT_EQ(facts->size(), 1U);
  EXPECT_EQ(facts->front().name, "");
  EXPECT_EQ(facts->front().threads, 128);
  EXPECT_EQ(facts->front().dynamic_shared_bytes, 36864);
  EXPECT_FALSE(facts->front().tensor_cores);
  ASSERT_TRUE(facts->front().tiles);
  EXPECT_EQ(facts->front().tiles->head_dim_vo, 128);
  EXPECT_EQ(facts->front().tiles->stages, 1);
}

TEST(LaunchFacts, NoPredictionWithoutTiles) {
  const auto facts =
      parse_launch_facts("schema = 1\n[[launch]]\nkernel = \"k\"\nthreads = 32\n", "x");
  ASSERT_TRUE(facts) << to_string(facts.error());
  EXPECT_FALSE(facts->front().tiles);
}

TEST(LaunchFacts, ErrorsNameLine) {
  EXPECT_THAT(complaint("[[launch]]\nkernel = \"k\"\nthreads = 32\n"),
              HasSubstr("write schema = 1"));
  EXPECT_THAT(complaint("schema = 1\n[[launch]]\nkernel = \"k\"\nthreads = 2048\n"),
              HasSubstr("x.launch.toml:4: threads: \"2048\""));
  EXPECT_THAT(complaint("schema = 1\n[[launch]]\nkernel = \"k\"\nthread = 32\n"),
              AllOf(HasSubstr("did you mean threads?"), HasSubstr("threads is missing")));
  EXPECT_THAT(complaint("schema = 1\n[[launch]]\nkernel = \"k\"\nthreads = 32\ntile_q = 16\n"),
              AllOf(HasSubstr("tile_kv is missing"), HasSubstr("head_dim_qk is missing"),
                    HasSubstr("element_bytes is missing")));
  EXPECT_THAT(complaint("schema = 1\n[[launch]]\nkernel = \"k\"\nthreads = 32\nstages = 2\n"),
              HasSubstr("tile_q is missing"));
}

// FlashInfer issue 703: head_dim 128 in fp16 with tensor cores needs 69.63 KB of shared memory, for
// 16 queries and two stages of 64 keys.
TEST(Prediction, StoryS4) {
  const Tiles tiles{16, 64, 128, 128, 2, 2};
  const Prediction prediction = predict(tiles, 128);
  EXPECT_EQ(prediction.shared_bytes, 69632);
  EXPECT_EQ(prediction.registers, (16 * 64 + 16 * 128) / 128.0);
}

TEST(Prediction, DifferentHeadDimensions) {
  // Q 64 x 192, one stage of K 32 x 192 and V 32 x 128, fp32; S 64 x 32 and O 64 x 128 over 256
  // threads.
  const Prediction prediction = predict({64, 32, 192, 128, 1, 4}, 256);
  EXPECT_EQ(prediction.shared_bytes, 4 * (64 * 192 + 32 * 192 + 32 * 128));
  EXPECT_EQ(prediction.registers, 40);
}

}  // namespace
}  // namespace plumbline
