// What the worker enqueues to time a call and to run it in order, on a device whose clock counts costs that the test gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/provider/worker/call.h"
#include "harness/provider/worker/device_clock.h"
#include "harness/provider/worker/gate.h"
#include "harness/provider/worker/ordered_call.h"

namespace plumbline {
namespace {

using testing::ElementsAre;

// The one device. Everything is done when it is enqueued, but for calls of the host, which are dropped or made at once.
struct VirtualDevice {
  std::vector<std::string> log;  // of what takes time, and of events
  double now_ns = 0;
  std::map<void*, double> events;
  bool calls_the_host = false;
  std::function<void()> last_call;  // of the host, dropped or not
};
VirtualDevice* device = nullptr;
int stream_object = 0;

void take(const std::string& what, double ns) {
  device->log.push_back(what);
  device->now_ns += ns;
}

plumbline_device_memory table() {
  plumbline_device_memory t{};
  t.struct_size = sizeof t;
  t.allocate = [](const plumbline_device*, std::uint64_t bytes, void** out) {
    *out = std::malloc(bytes);
    return 0;
  };
  t.release = [](const plumbline_device*, void* pointer) {
    std::free(pointer);
    return 0;
  };
  t.copy_to_device = t.copy_to_host = [](const plumbline_device*, void* to, const void* from, std::uint64_t bytes) {
    std::memcpy(to, from, bytes);
    return 0;
  };
  t.synchronize = [](const plumbline_device*, void*) { return 0; };
  t.create_stream = [](const plumbline_device*, void** out) {
    *out = &stream_object;
    return 0;
  };
  t.destroy_stream = [](const plumbline_device*, void*) { return 0; };
  t.enqueue_copy = [](const plumbline_device*, void* to, const void* from, std::uint64_t bytes, void*) {
    std::memmove(to, from, bytes);
    take("copy " + std::to_string(bytes), 7);
    return 0;
  };
  t.enqueue_fill = [](const plumbline_device*, void* at, std::int32_t byte, std::uint64_t bytes, void*) {
    std::memset(at, byte, bytes);
    take("fill " + std::to_string(bytes), 1000);
    return 0;
  };
  t.enqueue_call = [](const plumbline_device*, void (*function)(void*), void* argument, void*) {
    device->last_call = [=] { function(argument); };
    if (device->calls_the_host) device->last_call();
    return 0;
  };
  t.create_event = [](const plumbline_device*, void** out) {
    *out = std::malloc(1);
    return 0;
  };
  t.destroy_event = [](const plumbline_device*, void* event) {
    std::free(event);
    return 0;
  };
  t.record_event = [](const plumbline_device*, void* event, void*) {
    device->log.push_back("event");
    device->events[event] = device->now_ns;
    return 0;
  };
  t.elapsed_ns = [](const plumbline_device*, void* begin, void* end, double* ns) {
    *ns = device->events[end] - device->events[begin];
    return 0;
  };
  return t;
}

class OnVirtualDevice : public testing::Test {
 protected:
  static constexpr std::uint64_t l2_bytes = 4096;
  void SetUp() override { device = &device_; }
  DeviceMemory memory() const { return {table_, where_}; }
  static void call() { take("call", 50); }

  VirtualDevice device_;
  plumbline_device_memory table_ = table();
  plumbline_device where_{};
};

TEST_F(OnVirtualDevice, AColdCallFollowsAFlushThatIsNotTimed) {
  DeviceClock clock(memory(), &stream_object, l2_bytes);
  EXPECT_EQ(clock.cold_ns(call, 1), 50);
  EXPECT_THAT(device_.log, ElementsAre("fill 8192", "event", "call", "event"));
  EXPECT_EQ(clock.cold_ns(call, 3), 150);
  EXPECT_EQ(std::count(device_.log.begin(), device_.log.end(), "fill 8192"), 4) << "a flush for each call";
}

TEST_F(OnVirtualDevice, AHotCallFollowsACallThatIsNotTimed) {
  DeviceClock clock(memory(), &stream_object, l2_bytes);
  EXPECT_EQ(clock.hot_ns(call, 2), 100);
  EXPECT_THAT(device_.log, ElementsAre("call", "event", "call", "call", "event"));
  EXPECT_EQ(clock.hot_ns(call, 20), 1000) << "in two batches";
}

TEST_F(OnVirtualDevice, TheSentinelCopiesAQuarterOfTheL2EightTimes) {
  DeviceClock clock(memory(), &stream_object, l2_bytes);
  EXPECT_EQ(clock.sentinel_ns(5), 5 * 8 * 7);
  EXPECT_EQ(device_.log.front(), "copy 1024");
}

TEST_F(OnVirtualDevice, AnUnknownL2IsFlushedAsTheLargest) {
  DeviceClock clock(memory(), &stream_object, 0);
  clock.cold_ns(call, 1);
  EXPECT_EQ(device_.log.front(), "fill 268435456");
}

TEST_F(OnVirtualDevice, ACallIsEnqueuedBehindPoisonAndArrivals) {
  unsigned char input[4] = {1, 1, 1, 1}, output[4] = {9, 9, 9, 9}, workspace[4] = {9, 9, 9, 9}, source[4] = {5, 6, 7, 8};
  const std::vector<Arrival> arrivals{{input, 4, source, 0, ""}, {output, 4, source, 0, "out"}, {workspace, 4, nullptr, 0xAB, "workspace"}};
  int calls = 0;
  const std::string fault = call_in_order(memory(), &stream_object, arrivals, [&] {
    ++calls;
    EXPECT_THAT(input, ElementsAre(5, 6, 7, 8));
    EXPECT_THAT(workspace, testing::Each(0xAB));
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(device_.log, ElementsAre("fill 4", "fill 4", "fill 4", "copy 4", "copy 4", "fill 4"));
  EXPECT_EQ(fault, "out was written before the stream that run was given had begun: a kernel runs on another stream")
      << "this device does not hold back what was enqueued";
}

TEST_F(OnVirtualDevice, AGateThatOpenedByItselfAccusesNobodyAndTheCallIsMadeOnceMore) {
  device_.calls_the_host = true;  // at once: nobody can have opened the gate
  unsigned char output[4], source[4] = {5, 6, 7, 8};
  int calls = 0;
  EXPECT_EQ(call_in_order(memory(), &stream_object, {{output, 4, source, 0, "out"}}, [&] { ++calls; }), "");
  EXPECT_EQ(calls, 2);
}

TEST_F(OnVirtualDevice, ACallThatStopsOpensTheGate) {
  const auto stops = [] { throw Stop{Status::error, "no"}; };
  EXPECT_THROW(call_in_order(memory(), &stream_object, {}, stops), Stop);
  const auto start = std::chrono::steady_clock::now();
  device_.last_call();
  EXPECT_LT(std::chrono::steady_clock::now() - start, Gate::longest);
}

}  // namespace
}  // namespace plumbline
