// Recording from end to end, with the emulator instead of a GPU: program, files, replay.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/cli/command.h"
#include "tests/emulator/fragments.h"
#include "tests/emulator/record.h"

namespace plumbline::testing {
namespace {

using emulator::Arch;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaInstruction;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MmaInstruction bf16{MmaFormat::bf16, MmaAccumulator::f32, 16};
constexpr std::uintmax_t largest_file = 256 << 10;  // limit of ci/check_sources.py

class Record : public test::CommandTest {
 protected:
  test::CommandResult run(const std::string& arguments) const {
    return shell("PLUMBLINE_COMMIT=0123abc '" PLUMBLINE_RECORD_EMULATED "' " + arguments);
  }
  // Runs the test that replays all recordings on data/tensor-core-recordings.
  test::CommandResult replay() const {
    return shell("PLUMBLINE_DATA=\"$PWD/data\" '" PLUMBLINE_RECORDINGS_TEST
                 "' --gtest_filter=Recordings.ModelsMatchHardware");
  }
  std::filesystem::path folder() const { return directory_ / "data" / "tensor-core-recordings"; }
  // Changes the recording's text and writes it back.
  template <class Change>
  void edit(const std::string& file, Change change) const {
    std::string text = shell("gzip -dc '" + (folder() / file).string() + "'").text;
    change(text);
    write("data/tensor-core-recordings/" + file, text);
  }
};

// Flips bit 13 of the text's last result: the lowest bit of an fp16.
void flip_a_bit(std::string& text) {
  char& digit = text[text.find_last_not_of(",\n") - 3];
  const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
  digit = "0123456789abcdef"[value ^ 2];
}

TEST_F(Record, ReplaysWithoutMismatchOnEveryArchitecture) {
  for (const Arch arch : emulator::all_archs) {
    const std::string name(emulator::name(arch));
    std::filesystem::remove_all(folder());
    const auto recorded = run("--arch " + name + " --out data/tensor-core-recordings");
    ASSERT_EQ(recorded.code, 0) << recorded.text;
    const auto supported = std::count_if(
        all_instructions.begin(), all_instructions.end(),
        [&](const MmaInstruction& instruction) { return supports(arch, instruction); });
    const auto replayed = replay();
    EXPECT_EQ(replayed.code, 0) << replayed.text;
    const std::string count = std::to_string(supported);
    EXPECT_THAT(replayed.text, HasSubstr(count + " files, " + count + " result columns, " + count +
                                         "000 results"));
    EXPECT_THAT(replayed.text, HasSubstr("of the emulator, no evidence"));
    for (const auto& entry : std::filesystem::directory_iterator(folder()))
      EXPECT_LT(entry.file_size(), largest_file) << entry.path();
  }
}

TEST_F(Record, PlantedWrongBitFails) {
  ASSERT_EQ(run("--arch sm_80 --out data/tensor-core-recordings").code, 0);
  for (const char* file : {"sm_80-bf16_f32_k16.csv.gz", "sm_80-f16_f16_k8.csv.gz"}) {
    const std::string whole = shell("cat '" + (folder() / file).string() + "'").text;
    edit(file, flip_a_bit);
    const auto replayed = replay();
    EXPECT_EQ(replayed.code, 1) << replayed.text;
    EXPECT_THAT(replayed.text, HasSubstr("mismatches: exact 1, whole mma.sync 1;"));
    write("data/tensor-core-recordings/" + std::string(file), whole);
  }
  EXPECT_EQ(replay().code, 0);
}

TEST_F(Record, WritesMetadata) {
  ASSERT_EQ(run("--arch sm_89 --out data/tensor-core-recordings").code, 0);
  EXPECT_THAT(read("data/tensor-core-recordings/recording.toml"),
              ::testing::MatchesRegex("schema = 1\ngpu = \"emulator\"\narch = \"sm_89\"\n"
                                      "driver = \"none\"\ntoolkit = \"none\"\n"
                                      "date = \"20[0-9-]+T[0-9:]+Z\"\ncommit = \"0123abc\"\n"
                                      "generator = 1\nrows = 1000\n"));
  EXPECT_TRUE(is_emulator_recording(folder()));
  EXPECT_THAT(gaps(folder()), IsEmpty());
  const std::string first = shell("cat data/tensor-core-recordings/*.csv.gz | sha256sum").text;
  ASSERT_EQ(run("--arch sm_89 --out data/tensor-core-recordings").code, 0);
  EXPECT_EQ(shell("cat data/tensor-core-recordings/*.csv.gz | sha256sum").text, first);
}

// Recordings with missing rows or with other operands are not evidence.
TEST_F(Record, GapsAreReported) {
  ASSERT_EQ(run("--arch sm_80 --out data/tensor-core-recordings").code, 0);
  std::filesystem::remove(folder() / "sm_80-f16_f16_k8.csv.gz");
  edit("sm_80-tf32_f32_k4.csv.gz",
       [](std::string& text) { text.erase(text.rfind('\n', text.size() - 2) + 1); });
  edit("sm_80-bf16_f32_k8.csv.gz", [](std::string& text) {
    const std::size_t row = text.find('\n') + 1;
    text.replace(row, 8, "3f800000");
  });
  EXPECT_THAT(gaps(folder()),
              ElementsAre(HasSubstr("sm_80-f16_f16_k8.csv.gz: is missing"),
                          HasSubstr("sm_80-bf16_f32_k8.csv.gz:2: operands that are not those of "
                                    "generator 1"),
                          HasSubstr("sm_80-tf32_f32_k4.csv.gz: 999 rows, not 1000")));
  EXPECT_EQ(replay().code, 1);
  write("data/tensor-core-recordings/recording.toml", "gpu = \"NVIDIA X\"\narch = \"sm_75\"\n");
  EXPECT_THAT(gaps(folder()), ElementsAre(HasSubstr("names no architecture with a model")));
  EXPECT_FALSE(is_emulator_recording(folder()));
}

TEST_F(Record, RecordsAndCountsDifferencesFromModel) {
  Machine machine = emulator_of(Arch::sm_90);
  machine.run = [](const MmaInstruction& instruction, int count, const std::uint32_t* a,
                   const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d) {
    const std::string done = emulated(Arch::sm_90)(instruction, count, a, b, c, d);
    if (name(instruction) == "bf16_f32_k16") d[0] ^= 1;
    return done;
  };
  EXPECT_EQ(record(machine, folder(), "0123abc"), 1);
  EXPECT_THAT(gaps(folder()), IsEmpty());
  EXPECT_EQ(replay().code, 1);
}

TEST_F(Record, FailingMachineIsNotRecorded) {
  Machine machine = emulator_of(Arch::sm_90);
  machine.run = [](const auto&...) { return std::string("an illegal instruction"); };
  EXPECT_THAT([&] { record(machine, folder(), "0123abc"); },
              ::testing::ThrowsMessage<std::runtime_error>(
                  HasSubstr("f16_f32_k16: an illegal instruction")));
  EXPECT_FALSE(std::filesystem::exists(folder() / "recording.toml"));
  EXPECT_EQ(run("--arch sm_90 --out /dev/null/folder").code, 1);
  EXPECT_EQ(run("--arch sm_75 --out data").code, 1);
  EXPECT_EQ(run("--arch sm_90").code, 2);
  EXPECT_EQ(run("--out data --nonsense").code, 2);
}

TEST(OperandRows, ReproducibleAndOfManyKinds) {
  const std::vector<RecordedRow> rows = operand_rows(bf16), again = operand_rows(bf16);
  ASSERT_EQ(rows.size(), 1000u);
  std::set<std::uint32_t> first;
  int with_nan = 0, subnormal = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].a, again[i].a);
    EXPECT_EQ(rows[i].b, again[i].b);
    EXPECT_EQ(rows[i].c, again[i].c);
    first.insert(rows[i].a[0]);
    with_nan += std::any_of(rows[i].a.begin(), rows[i].a.end(),
                            [](std::uint32_t raw) { return (raw & 0x7fff) > 0x7f80; });
    subnormal += (rows[i].a[0] & 0x7f80) == 0 && (rows[i].a[0] & 0x7f) != 0;
  }
  EXPECT_GT(first.size(), 600u);
  EXPECT_GT(with_nan, 40);
  EXPECT_GT(subnormal, 40);
  EXPECT_NE(rows[0].a, operand_rows({MmaFormat::bf16, MmaAccumulator::f32, 8})[0].a);
}

}  // namespace
}  // namespace plumbline::testing
