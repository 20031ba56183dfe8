// The models against what real tensor cores answered, and wrong models against it.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/emulator/fragments.h"
#include "tests/emulator/recordings.h"

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

// Which instruction one result column is a recording of.
struct Recorded {
  std::string instruction;
  MmaModel model;
  std::optional<Arch> arch;  // of the mma.sync, where it is one that mma_sync runs
  bool c_is_zero = false;
};

Recorded recorded(const Recording& set, MmaAccumulator accumulator) {
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

std::uint32_t start_of(const RecordedRow& row, const Recorded& how, MmaAccumulator accumulator) {
  const std::uint32_t c = how.c_is_zero ? 0 : row.c;
  return accumulator == MmaAccumulator::f32 ? c : f16_from_f32(c);
}

std::uint32_t expected(const RecordedRow& row, MmaAccumulator accumulator) {
  return accumulator == MmaAccumulator::f32 ? *row.d_f32 : f16_from_f32(*row.d_f16);
}

int mismatches(const Recording& set, const std::vector<RecordedRow>& rows, const Recorded& how,
               MmaAccumulator accumulator, const MmaModel& model) {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](const RecordedRow& row) {
    const std::uint32_t c = start_of(row, how, accumulator);
    return dot(model, set.format, set.k, row.a.data(), row.b.data(), c) !=
           expected(row, accumulator);
  }));
}

// Eight rows at a time through a whole mma.sync: row n is row n or n + 8 of A, in turns, and column
// n of B.
int mismatches_of_mma_sync(const Recording& set, const std::vector<RecordedRow>& rows,
                           const Recorded& how, MmaAccumulator accumulator) {
  const emulator::MmaInstruction instruction{set.format, accumulator, set.k};
  const emulator::MmaRegisters count = registers(instruction);
  const int bits = operand_bits(set.format), c_bits = accumulator_bits(accumulator);
  int wrong = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += 8) {
    Fragments fragments;
    const int used = static_cast<int>(std::min<std::size_t>(8, rows.size() - begin));
    const auto row_of = [&](int n) { return n + (begin / 8 % 2 == 0 ? 0 : 8); };
    for (int n = 0; n < used; ++n) {
      const RecordedRow& row = rows[begin + static_cast<std::size_t>(n)];
      for (int k = 0; k < set.k; ++k) {
        set_element(fragments.a.data(), count.a, place_a(instruction, row_of(n), k), bits,
                    row.a[static_cast<std::size_t>(k)]);
        set_element(fragments.b.data(), count.b, place_b(instruction, k, n), bits,
                    row.b[static_cast<std::size_t>(k)]);
      }
      set_element(fragments.c.data(), count.c, place_c(instruction, row_of(n), n), c_bits,
                  start_of(row, how, accumulator));
    }
    mma_sync(*how.arch, instruction, fragments.a.data(), fragments.b.data(), fragments.c.data(),
             fragments.d.data());
    for (int n = 0; n < used; ++n) {
      const RecordedRow& row = rows[begin + static_cast<std::size_t>(n)];
      wrong += get_element(fragments.d.data(), count.c, place_c(instruction, row_of(n), n),
                           c_bits) != expected(row, accumulator);
    }
  }
  return wrong;
}

struct Totals {
  int sets = 0, results = 0;
};

// One result column of a set: prints a line, expects no mismatch, and that wrong parameters show.
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

  // A wrong model must show. What the recordings cannot tell: F in fp16 results; L / 2 where one
  // such step takes all products; the sums of fp8 through fp16, exact as they are, in fp32 results:
  // there it shows that fp8 is not an instruction of its own.
  const int seen = static_cast<int>(rows.size()) / 100;
  if (is_f32 && !outside) {
    EXPECT_GT(more_bits, seen) << title;
    EXPECT_GT(fewer_bits, seen) << title;
  }
  if (step / 2 < set.k && !(is_f32 && outside)) {
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

TEST(Recordings, EveryModelAnswersAsTheHardwareDid) {
  const std::filesystem::path folder = recordings_folder();
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << folder
                 << " is missing: set PLUMBLINE_DATA to the folder that has tensor-core-recordings";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".csv.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty()) << folder << " has no GPU-FORMAT.csv.gz";
  Totals totals;
  for (const std::filesystem::path& file : files) {
    const Recording set = read_recording(file);
    if (!is_known(set.gpu)) {
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

class RecordingFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // Not compressed: zlib reads that, too.
  std::filesystem::path write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(folder_);
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

TEST_F(RecordingFile, ThatIsWrongSaysWhere) {
  const std::string header = "a0,b0,c,d_fp32,d_fp16\n";
  const auto read = [&](const std::string& file, const std::string& text) {
    return [=, this] { read_recording(write(file, text)); };
  };
  using Error = std::runtime_error;
  EXPECT_THAT(read("a100-int8.csv.gz", header), ThrowsMessage<Error>(HasSubstr("GPU-FORMAT")));
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
