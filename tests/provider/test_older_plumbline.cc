// A provider compiled against this header serves an older plumbline, because it checks for fields
// that were added later.
#include <gmock/gmock.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"

namespace plumbline::provider {
namespace {

using testing::HasSubstr;

// The size of plumbline_tensors in each release. Fields are appended; none of these may move.
static_assert(sizeof(plumbline_tensor) == 104);
static_assert(offsetof(plumbline_tensors, device_cu_seqlens_q) == 8 + 17 * 104);
static_assert(offsetof(plumbline_tensors, stream) == 8 + 22 * 104);
static_assert(offsetof(plumbline_tensors, output_count) == 8 + 22 * 104 + 3 * sizeof(void*));
static_assert(offsetof(plumbline_tensors, out_scale) == 8 + 22 * 104 + 5 * sizeof(void*));
static_assert(sizeof(plumbline_tensors) == 8 + 23 * 104 + 5 * sizeof(void*));
constexpr std::size_t sizes_of_releases[] = {
    8 + 17 * 104, offsetof(plumbline_tensors, output_count), offsetof(plumbline_tensors, out_scale),
    sizeof(plumbline_tensors)};

// The inputs of a planner.
struct Seen {
  bool has_copies = false, has_stream = false, has_memory = false, has_outputs = false,
       has_out_scale = false;
};

struct Planner : Library {
  struct Kernel {
    const char* name;
  };
  struct Plan {
    std::int32_t lengths = 0;
  };
  static std::optional<Seen>& seen() {
    static std::optional<Seen> what;
    return what;
  }
  static const char* name() { return "planner"; }
  static const char* version() { return "1"; }
  static const std::vector<Kernel>& kernels() {
    static const std::vector<Kernel> all{{"one"}};
    return all;
  }
  static std::string refusal(const Kernel&, const plumbline_problem&,
                             const plumbline_device& device) {
    if (device.ordinal != 0) throw Refused(PLUMBLINE_NO_DEVICE, "there is one device");
    return "";
  }
  static Plan prepare(const Kernel&, const plumbline_problem&, const plumbline_tensors& tensors,
                      const plumbline_device&, std::uint64_t&) {
    seen() =
        Seen{.has_copies = device_indices(tensors, &plumbline_tensors::device_seqlens_q) != nullptr,
             .has_stream = planning_stream(tensors) != nullptr,
             .has_memory = plan_memory(tensors, 64, "index arrays") != nullptr,
             .has_outputs = find_output(tensors, "lse") != nullptr,
             .has_out_scale = has_field(tensors, &plumbline_tensors::out_scale)};
    return {};
  }
  static void run(Plan&, const plumbline_tensors&, void*) {}
  static void describe(const Plan&, plumbline_description&) {}
};

plumbline_status give(void* context, std::uint64_t bytes, void** out) {
  *out = bytes > 64 ? nullptr : context;
  return bytes > 64 ? PLUMBLINE_OUT_OF_MEMORY : PLUMBLINE_OK;
}

// Returns tensors with all fields; struct_size tells the provider how many a release had.
plumbline_tensors whole_tensors() {
  static std::int32_t lengths[] = {5};
  static std::int64_t memory[8];
  auto tensors = sized<plumbline_tensors>();
  tensors.device_seqlens_q = sized<plumbline_tensor>();
  tensors.device_seqlens_q.rank = 1;
  tensors.device_seqlens_q.data = lengths;
  tensors.stream = &lengths;
  tensors.allocate = give;
  tensors.allocate_context = memory;
  static const plumbline_output outputs[] = {{sizeof(plumbline_output), 0, "out", {}},
                                             {sizeof(plumbline_output), 0, "lse", {}}};
  tensors.output_count = 2;
  tensors.outputs = outputs;
  return tensors;
}

struct Answer {
  plumbline_status status;
  std::string reason;
};
Answer prepare(std::size_t struct_size, std::int32_t ordinal = 0) {
  const plumbline_provider& provider = *serve<Planner>(PLUMBLINE_ABI_VERSION, "");
  const auto problem = sized<plumbline_problem>();
  auto device = sized<plumbline_device>();
  device.ordinal = ordinal;
  plumbline_tensors tensors = whole_tensors();
  tensors.struct_size = static_cast<std::uint32_t>(struct_size);
  plumbline_plan* plan = nullptr;
  std::uint64_t bytes = 0;
  char reason[200] = "";
  Planner::seen().reset();
  const plumbline_status status =
      provider.prepare(0, &problem, &tensors, &device, &plan, &bytes, reason, sizeof reason);
  if (plan != nullptr) provider.destroy(plan);
  return {status, reason};
}

TEST(OlderPlumbline, ServedWithoutLaterFields) {
  for (const std::size_t size : sizes_of_releases) {
    const Answer answer = prepare(size);
    EXPECT_EQ(answer.status, PLUMBLINE_OK) << answer.reason;
    ASSERT_TRUE(Planner::seen());
    const bool has_planning = size > sizes_of_releases[0];
    EXPECT_EQ(Planner::seen()->has_copies, has_planning);
    EXPECT_EQ(Planner::seen()->has_stream, has_planning);
    EXPECT_EQ(Planner::seen()->has_memory, has_planning);
    EXPECT_EQ(Planner::seen()->has_outputs, size >= offsetof(plumbline_tensors, out_scale));
    EXPECT_EQ(Planner::seen()->has_out_scale, size == sizeof(plumbline_tensors));
  }
  const Answer newer = prepare(sizeof(plumbline_tensors) + 800);
  EXPECT_EQ(newer.status, PLUMBLINE_OK) << newer.reason;
}

TEST(OlderPlumbline, HasFieldNeedsWholeField) {
  plumbline_tensors tensors = whole_tensors();
  const std::size_t end = offsetof(plumbline_tensors, stream) + sizeof tensors.stream;
  tensors.struct_size = static_cast<std::uint32_t>(end);
  EXPECT_TRUE(has_field(tensors, &plumbline_tensors::stream));
  EXPECT_FALSE(has_field(tensors, &plumbline_tensors::allocate));
  tensors.struct_size = static_cast<std::uint32_t>(end - 1);
  EXPECT_FALSE(has_field(tensors, &plumbline_tensors::stream));
}

TEST(OlderPlumbline, ShorterThanFirstReleaseIsRefused) {
  const Answer answer = prepare(sizes_of_releases[0] - 1);
  EXPECT_EQ(answer.status, PLUMBLINE_ERROR);
  EXPECT_THAT(answer.reason, HasSubstr("plumbline is too old for this provider"));
  EXPECT_FALSE(Planner::seen());
}

TEST(Refusals, PlanMemoryNamesPurpose) {
  try {
    plan_memory(whole_tensors(), 65, "index arrays");
    FAIL() << "65 bytes were given";
  } catch (const Refused& refused) {
    EXPECT_EQ(refused.status, PLUMBLINE_OUT_OF_MEMORY);
    EXPECT_STREQ(refused.what(), "no 65 bytes of plan memory for index arrays");
  }
}

TEST(Refusals, MissingDeviceIsNoDevice) {
  const Answer answer = prepare(sizeof(plumbline_tensors), 1);
  EXPECT_EQ(answer.status, PLUMBLINE_NO_DEVICE);
  EXPECT_EQ(answer.reason, "there is one device");
}

}  // namespace
}  // namespace plumbline::provider
