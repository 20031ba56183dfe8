// The models reproduce the results of real tensor cores, and wrong models do not.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "tests/emulator/record.h"

namespace plumbline::testing {
namespace {

using emulator::Arch;
using emulator::Conversion;
using emulator::MmaAccumulator;
using emulator::MmaFormat;
using emulator::MmaModel;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::optional<Arch> arch_of(const std::string& gpu) {
  if (gpu == "a100") return Arch::sm_80;
  if (gpu == "a2") return Arch::sm_86;
  if (gpu == "ada" || gpu == "l40s") return Arch::sm_89;
  if (gpu == "h100" || gpu == "h200") return Arch::sm_90;
  if (gpu == "b200") return Arch::sm_100;
  return std::nullopt;
}

bool is_known(const std::string& gpu) { return gpu == "v100" || arch_of(gpu); }

// The instruction that a result column was recorded from.
struct Recorded {
  std::string instruction;
  MmaModel model;
  std::optional<Arch> arch;  // only if mma_sync executes it
  bool c_is_zero = false;
};

Recorded recorded(const Recording& set, MmaAccumulator accumulator) {
  if (set.instruction) {
    const Arch arch = *emulator::parse_arch(set.gpu);
    return {fmt::format("mma.sync of {}", emulator::name(arch)), model(arch, *set.instruction),
            arch};
  }
  if (set.gpu == "v100")
    return {"mma.m8n8k4 of sm_70", {mma_m8n8k4_sm_70(accumulator), false, ""}, std::nullopt};
  const Arch arch = *arch_of(set.gpu);
  const bool is_fp8 = set.format == MmaFormat::e4m3 || set.format == MmaFormat::e5m2;
  if (arch == Arch::sm_90 && is_fp8 && accumulator == MmaAccumulator::f32) {
    return {"wgmma of sm_90, c = 0", {emulator::wgmma_fp8_sm_90(), false, ""}, std::nullopt, true};
  }
  return {fmt::format("mma.sync of {}", name(arch)), model(arch, {set.format, accumulator, set.k}),
          arch};
}

// The recorded c, except for recordings in which c was 0.
std::uint32_t start_of(const RecordedRow& row, const Recorded& how, MmaAccumulator accumulator) {
  return how.c_is_zero ? 0 : start_of(row, accumulator);
}

int mismatches(const Recording& set, const std::vector<RecordedRow>& rows, const Recorded& how,
               MmaAccumulator accumulator, const MmaModel& model) {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](const RecordedRow& row) {
    const std::uint32_t c = start_of(row, how, accumulator);
    return dot(model, set.format, set.k, row.a.data(), row.b.data(), c) !=
           result_of(row, accumulator);
  }));
}

int mismatches_of_mma_sync(const Recording& set, const std::vector<RecordedRow>& rows,
                           const Recorded& how, MmaAccumulator accumulator) {
  const std::vector<std::uint32_t> results =
      results_of({set.format, accumulator, set.k}, rows, emulated(*how.arch));
  int wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    wrong += results[i] != result_of(rows[i], accumulator);
  return wrong;
}

struct Totals {
  int sets = 0, results = 0;
};

// Replays one result column of a recording: prints a line, expects no mismatch, and expects
// mismatches with wrong parameters.
void replay(const Recording& set, MmaAccumulator accumulator, Totals& totals) {
  std::vector<RecordedRow> rows = set.rows;
  std::erase_if(rows, [&](const RecordedRow& row) {
    return !(accumulator == MmaAccumulator::f32 ? row.d_f32 : row.d_f16);
  });
  if (rows.empty()) return;
  const Recorded how = recorded(set, accumulator);
  const bool is_f32 = accumulator == MmaAccumulator::f32;
  const std::string title = set.name + (is_f32 ? " fp32" : " fp16");

  const int exact = mismatches(set, rows, how, accumulator, how.model);
  std::string fast = "not run";
  if (how.arch) {
    const int wrong = mismatches_of_mma_sync(set, rows, how, accumulator);
    fast = std::to_string(wrong);
    EXPECT_EQ(wrong, 0) << title;
  }
  const auto with = [&](int fraction_bits, int products_per_step, bool through_f16) {
    MmaModel wrong = how.model;
    wrong.sum.fraction_bits = fraction_bits;
    wrong.sum.products_per_step = products_per_step;
    wrong.through_f16 = through_f16;
    return mismatches(set, rows, how, accumulator, wrong);
  };
  const int bits = how.model.sum.fraction_bits, step = how.model.sum.products_per_step;
  const bool outside = how.model.through_f16;
  const int more_bits = with(bits + 1, step, outside), fewer_bits = with(bits - 1, step, outside),
            shorter = with(bits, step / 2, outside);
  fmt::print(
      "{}: {}, {} rows, {} results, mismatches: exact {}, whole mma.sync {}; with F+1 {}, F-1 {}, "
      "L/2 {}",
      title, how.instruction, set.rows.size(), rows.size(), exact, fast, more_bits, fewer_bits,
      shorter);
  EXPECT_EQ(exact, 0) << title;

  // A wrong model must give mismatches. Three errors cannot show: a wrong F in fp16 results, L / 2
  // if one step of L / 2 takes all products, and either of them in fp32 results of fp8 through
  // fp16, whose sums are exact. For fp8 through fp16, the model of a native fp8 instruction must
  // also give mismatches.
  const int seen = static_cast<int>(rows.size()) / 100;
  if (is_f32 && !outside) {
    EXPECT_GT(more_bits, seen) << title;
    EXPECT_GT(fewer_bits, seen) << title;
  }
  const int products = outside ? set.k / 2 : set.k;  // of one instruction
  if (step / 2 < products && !(is_f32 && outside)) {
    EXPECT_GT(shorter, seen) << title;
  }
  if (outside) {
    const int native = with(25, 32, false);
    fmt::print(", one step of 32 {}", native);
    EXPECT_GT(native, seen) << title;
  }
  fmt::print("\n");
  ++totals.sets;
  totals.results += static_cast<int>(rows.size());
}

std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".csv.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Replays every file of the folder. Our own folders (recording.toml) must also be complete.
void replay_all(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = recordings_in(folder);
  ASSERT_FALSE(files.empty()) << folder << " has no GPU-FORMAT.csv.gz";
  if (std::filesystem::exists(folder / "recording.toml")) {
    EXPECT_THAT(gaps(folder), ::testing::IsEmpty());
    if (is_emulator_recording(folder))
      fmt::print("{}: of the emulator, no evidence\n", folder.string());
  }
  Totals totals;
  for (const std::filesystem::path& file : files) {
    const Recording set = read_recording(file);
    if (!set.instruction && !is_known(set.gpu)) {
      ADD_FAILURE() << file << ": no model of '" << set.gpu
                    << "'; known: v100, a100, a2, ada, l40s, h100, h200, b200";
      continue;
    }
    replay(set, MmaAccumulator::f32, totals);
    replay(set, MmaAccumulator::f16, totals);
  }
  fmt::print("{} files, {} result columns, {} results\n", files.size(), totals.sets,
             totals.results);
}

const std::filesystem::path source = PLUMBLINE_SOURCE_DIRECTORY;

TEST(Recordings, ModelsMatchHardware) {
  const std::filesystem::path folder = recordings_folder(source, std::getenv("PLUMBLINE_DATA"));
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no recordings of tensor cores in " << folder
                 << ": ci/recordings.sh fetches the public ones (about 10 MB); a copy elsewhere is "
                    "found as $PLUMBLINE_DATA/tensor-core-recordings";
  replay_all(folder);
}

// baselines/gpu/NAME/ for each GPU that ci/gpu.sh has recorded.
TEST(Recordings, ModelsMatchOurOwnGpus) {
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source / "baselines" / "gpu")) {
    if (!entry.is_directory()) continue;
    ++folders;
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "recording.toml")) << entry.path();
    EXPECT_FALSE(is_emulator_recording(entry.path())) << entry.path() << ": no GPU recorded it";
    replay_all(entry.path());
  }
  if (folders == 0)
    GTEST_SKIP() << "no GPU has been recorded yet: on one, ci/gpu.sh --only record makes what "
                    "belongs into baselines/gpu (docs/gpu.md)";
}

TEST(Recordings, FolderSearchOrder) {
  const std::filesystem::path root =
      std::filesystem::path(::testing::TempDir()) / "recordings_in_one_place";
  std::filesystem::create_directories(root / "checkout");
  EXPECT_EQ(recordings_folder(root / "checkout", nullptr),
            root / "shared" / "data" / "tensor-core-recordings");
  EXPECT_EQ(recordings_folder(root / "checkout", "/data"), "/data/tensor-core-recordings");
  std::filesystem::create_directories(root / "checkout" / ".recordings");
  EXPECT_EQ(recordings_folder(root / "checkout", nullptr), root / "checkout" / ".recordings");
  EXPECT_EQ(recordings_folder(root / "checkout", "/data"), "/data/tensor-core-recordings");
  std::filesystem::remove_all(root);
}

class RecordingFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void create() { std::filesystem::create_directories(folder_); }
  // Writes an uncompressed file, which zlib also reads.
  std::filesystem::path write(const std::string& file, const std::string& text) {
    create();
    std::ofstream(folder_ / file) << text;
    return folder_ / file;
  }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("recordings_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(RecordingFile, IsReadAsRawBits) {
  const Recording set = read_recording(
      write("a100-fp16.csv.gz",
            "a0,a1,b0,b1,c,d_fp32,d_fp16\n3f800000,33800000,c0000000,0,3f8ccccd,bf000000,\n"));
  EXPECT_EQ(set.gpu, "a100");
  EXPECT_EQ(set.k, 2);
  ASSERT_EQ(set.rows.size(), 1u);
  EXPECT_EQ(set.rows[0].a[0], 0x3c00u);
  EXPECT_EQ(set.rows[0].a[1], 0x0001u);
  EXPECT_EQ(set.rows[0].b[0], 0xc000u);
  EXPECT_EQ(set.rows[0].c, 0x3f8ccccdu);
  EXPECT_EQ(set.rows[0].d_f32, 0xbf000000u);
  EXPECT_EQ(set.rows[0].d_f16, std::nullopt);
  EXPECT_EQ(f16_from_f32(0x3f8ccccd), 0x3c66u);
}

TEST_F(RecordingFile, EdgeValuesOfEachFormat) {
  // Raw bits and the fp32 with the same value: infinities, NaN with a payload, largest, subnormal.
  const std::pair<std::uint32_t, std::uint32_t> f16[] = {
      {0x7c00, 0x7f800000}, {0xfc00, 0xff800000}, {0x7fff, 0x7fffe000}, {0x7c01, 0x7f802000},
      {0x7bff, 0x477fe000}, {0x0001, 0x33800000}, {0x83ff, 0xb87fc000}, {0x8000, 0x80000000}};
  for (const auto& [raw, f32] : f16) {
    EXPECT_EQ(f32_from_f16(raw), f32) << raw;
    EXPECT_EQ(f16_from_f32(f32), raw) << raw;
  }
  EXPECT_EQ(f16_from_f32(0x477ff000), 0x7c00u) << "65520 rounds to infinity";
  EXPECT_EQ(f16_from_f32(0xff7fffff), 0xfc00u);
  EXPECT_EQ(f16_from_f32(0x7f800001), 0x7c01u) << "a NaN stays one";
  EXPECT_EQ(f16_from_f32(0x33000000), 0x0000u) << "2^-25 is a tie";
  EXPECT_EQ(f16_from_f32(0x33000001), 0x0001u);

  create();
  Recording set{"sm_90-e4m3_f32_k16", "sm_90", MmaFormat::e4m3, 16, {}, std::nullopt};
  for (std::uint32_t raw = 0; raw < 256; raw += 16) {
    RecordedRow row;
    for (std::uint32_t i = 0; i < 16; ++i) row.a[i] = row.b[15 - i] = raw + i;
    row.d_f32 = 0x7fffffff;
    set.rows.push_back(row);
  }
  write_recording(set, folder_);
  const Recording got = read_recording(folder_ / "sm_90-e4m3_f32_k16.csv.gz");
  ASSERT_EQ(got.rows.size(), 16u);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(got.rows[i].a, set.rows[i].a);
    EXPECT_EQ(got.rows[i].b, set.rows[i].b);
    EXPECT_EQ(got.rows[i].d_f32, 0x7fffffffu);
    EXPECT_EQ(got.rows[i].d_f16, std::nullopt);
  }
  EXPECT_THROW(write_recording(set, folder_ / "missing"), std::runtime_error);
}

TEST_F(RecordingFile, ErrorNamesLine) {
  const std::string header = "a0,b0,c,d_fp32,d_fp16\n";
  const auto read = [&](const std::string& file, const std::string& text) {
    return [=, this] { read_recording(write(file, text)); };
  };
  using Error = std::runtime_error;
  EXPECT_THAT(read("a100-int8.csv.gz", header), ThrowsMessage<Error>(HasSubstr("GPU-FORMAT")));
  EXPECT_THAT(read("sm_90-f16_f32_k17.csv.gz", header),
              ThrowsMessage<Error>(HasSubstr("ARCH-INSTRUCTION")));
  EXPECT_THAT(read("sm_90-f16_f32_k16.csv.gz", header),
              ThrowsMessage<Error>(HasSubstr("csv.gz:1: 1 columns a, but the name says k16")));
  EXPECT_THAT(read("notes.csv.gz", header), ThrowsMessage<Error>(HasSubstr("GPU-FORMAT")));
  EXPECT_THAT(read("a100-fp16.csv.gz", "a0,b0\n"),
              ThrowsMessage<Error>(HasSubstr("csv.gz:1: expected a0")));
  EXPECT_THAT(read("a100-fp16.csv.gz", header + "0,0,0,0,\n0,0,0\n"),
              ThrowsMessage<Error>(HasSubstr("csv.gz:3: 3 fields, not 5")));
  EXPECT_THAT(read("a100-fp16.csv.gz", header + "0,0,0,x,\n"),
              ThrowsMessage<Error>(HasSubstr("csv.gz:2: 'x' is no hexadecimal")));
  EXPECT_THAT(read("a100-fp16.csv.gz", header + "3f800001,0,0,0,\n"),
              ThrowsMessage<Error>(HasSubstr("csv.gz:2: 3f800001 is no fp16")));
  EXPECT_THAT(read("a100-fp16.csv.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\0torn", 14)),
              ThrowsMessage<Error>(HasSubstr("damaged")));
}

}  // namespace
}  // namespace plumbline::testing
