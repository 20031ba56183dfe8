// Tensors in the arena end near a page's end, have guard bytes and poison, and never move.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/provider/client/arena.h"
#include "harness/provider/pages.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Arena make_arena() {
  auto arena = Arena::create();
  EXPECT_TRUE(arena) << to_string(arena.error());
  return std::move(*arena);
}

std::size_t place(Arena& arena, std::size_t bytes, Access access = Access::write) {
  auto index = arena.place("t", bytes, access);
  EXPECT_TRUE(index) << to_string(index.error());
  return *index;
}

TEST(Arena, DataEndsNearPageEnd) {
  Arena arena = make_arena();
  for (const std::size_t bytes : {1u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 12288u, 100000u}) {
    const Slot& slot = arena.slot(place(arena, bytes));
    EXPECT_EQ(slot.offset % 64, 0u);
    EXPECT_LE(slot.offset + slot.bytes, slot.page_end);
    EXPECT_LT(slot.page_end - (slot.offset + slot.bytes), 64u) << bytes;
    EXPECT_GE(slot.offset, slot.page_begin);
    EXPECT_LT(slot.offset, slot.page_begin + page_bytes) << "no page without data";
  }
}

TEST(Arena, SlotsArePagesApart) {
  Arena arena = make_arena();
  std::size_t end = 0;
  for (const std::size_t bytes : {0u, 10u, 4096u, 5000u, 0u}) {
    const Slot& slot = arena.slot(place(arena, bytes));
    EXPECT_EQ(slot.page_begin % page_bytes, 0u);
    EXPECT_GE(slot.page_begin, end + page_bytes);
    EXPECT_GT(slot.page_end, slot.page_begin);
    end = slot.page_end;
  }
  EXPECT_GE(arena.size_bytes(), end + page_bytes);
}

TEST(Arena, GrowingMovesNothing) {
  Arena arena = make_arena();
  const std::size_t first = place(arena, 1000);
  void* const before = arena.data(first);
  std::memset(before, 7, 1000);
  for (int i = 0; i < 8; ++i) place(arena, std::size_t{16} << 20);
  EXPECT_EQ(arena.data(first), before);
  EXPECT_EQ(static_cast<unsigned char*>(before)[999], 7);
  EXPECT_THAT(arena.broken_fence_bytes(first), IsEmpty());
}

TEST(Arena, PoisonIsAllOnesAndStaysInside) {
  Arena arena = make_arena();
  const std::size_t index = place(arena, 100);
  arena.poison(index);
  const auto* data = static_cast<const unsigned char*>(arena.data(index));
  EXPECT_EQ(std::vector<unsigned char>(data, data + 100), std::vector<unsigned char>(100, 0xFF));
  EXPECT_EQ(data[100], 0xA5);
  EXPECT_EQ(data[-1], 0xA5);
}

TEST(Arena, GuardByteDistancesCountFromTensor) {
  Arena arena = make_arena();
  const std::size_t index = place(arena, 100);
  EXPECT_THAT(arena.broken_fence_bytes(index), IsEmpty());
  auto* data = static_cast<unsigned char*>(arena.data(index));
  data[-1] = 0;
  data[-300] = 0;
  data[100] = 0;
  data[127] = 0;
  EXPECT_THAT(arena.broken_fence_bytes(index), ElementsAre(-300, -1, 1, 28));
  arena.write_fences(index);
  EXPECT_THAT(arena.broken_fence_bytes(index), IsEmpty());
}

TEST(Arena, EmptyTensorIsPageOfGuardBytes) {
  Arena arena = make_arena();
  const std::size_t index = place(arena, 0);
  const Slot& slot = arena.slot(index);
  EXPECT_EQ(slot.page_end - slot.page_begin, page_bytes);
  EXPECT_EQ(slot.offset, slot.page_end);
  EXPECT_THAT(arena.broken_fence_bytes(index), IsEmpty());
  static_cast<unsigned char*>(arena.data(index))[-4096] = 0;
  EXPECT_THAT(arena.broken_fence_bytes(index), ElementsAre(-4096));
}

TEST(Arena, ResetReusesMemoryAndRewritesGuardBytes) {
  Arena arena = make_arena();
  const std::size_t first = place(arena, 100);
  const std::size_t offset = arena.slot(first).offset;
  std::memset(arena.data(first), 0, 100);
  arena.reset();
  EXPECT_EQ(arena.slot_count(), 0u);
  const std::size_t second = place(arena, 40);
  EXPECT_GT(arena.slot(second).offset, offset);
  EXPECT_THAT(arena.broken_fence_bytes(second), IsEmpty());
}

TEST(Arena, RefusesOversizedTensor) {
  Arena arena = make_arena();
  EXPECT_FALSE(arena.place("huge", Arena::capacity_bytes, Access::read));
  EXPECT_FALSE(arena.place("huge", SIZE_MAX - 10, Access::read));
  const auto fits = arena.place("q", 10, Access::read);
  ASSERT_TRUE(fits);
  EXPECT_EQ(arena.slot(*fits).name, "q");
}

TEST(Arena, CanBeMoved) {
  Arena a = make_arena();
  const std::size_t index = place(a, 8);
  Arena b = std::move(a);
  a = make_arena();
  EXPECT_EQ(b.slot(index).bytes, 8u);
  EXPECT_EQ(a.slot_count(), 0u);
}

TEST(Arena, LengthIsSealed) {
  Arena arena = make_arena();
  place(arena, 1000);
  EXPECT_EQ(ftruncate(arena.descriptor(), 0), -1);
  EXPECT_EQ(ftruncate(arena.descriptor(), off_t{1} << 40), -1);
  place(arena, std::size_t{16} << 20);  // the arena remains usable
}

TEST(Arena, DigestChangesWithOneByte) {
  Arena arena = make_arena();
  const std::size_t slot = place(arena, 100000, Access::read);
  std::memset(arena.data(slot), 1, 100000);
  const std::uint64_t before = arena.digest(slot);
  EXPECT_EQ(arena.digest(slot), before);
  auto* const byte = static_cast<unsigned char*>(arena.data(slot)) + 99999;
  *byte = 2;
  EXPECT_NE(arena.digest(slot), before);
  *byte = 1;
  EXPECT_EQ(arena.digest(slot), before);
  std::memset(arena.data(slot), 0, 100000);
  EXPECT_NE(arena.digest(slot), before);
}

// Sparse tensors are nearly all holes, which become pages of zeros when they are read.
TEST(Arena, DigestOfHolesEqualsZeros) {
  Arena arena = make_arena();
  const std::size_t bytes = std::size_t{1} << 30, slot = place(arena, bytes, Access::read);
  auto* const data = static_cast<volatile unsigned char*>(arena.data(slot));
  data[bytes / 2] = 7;
  const std::uint64_t before = arena.digest(slot);
  int sum = 0;
  for (std::size_t at = 0; at < 64 * page_bytes; at += page_bytes) sum += data[at];
  EXPECT_EQ(sum, 0);
  EXPECT_EQ(arena.digest(slot), before);
}

}  // namespace
}  // namespace plumbline
