// Implements the modelled GPU: checked memory, streams that run late, events, sticky errors.
#include "tests/gpu/stand_in/device.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace plumbline::stand_in {
namespace {

constexpr std::uint64_t alignment = 256;

// All errors except those of an allocation or an argument make a CUDA process unusable.
bool is_sticky(std::int32_t code) {
  return code == codes::illegal_address || code == codes::launch_failure;
}

}  // namespace

void Device::Free::operator()(std::byte* memory) const { std::free(memory); }

std::int32_t Device::remember(std::int32_t code) {
  if (sticky_ == codes::success && is_sticky(code)) sticky_ = code;
  return sticky_ != codes::success ? sticky_ : code;
}

// ---- Memory ----

std::int32_t Device::allocate(std::uint64_t bytes, void** out) {
  if (sticky_ != codes::success) return sticky_;
  if (bytes == 0 || out == nullptr) return codes::invalid_value;
  if (bytes > memory_bytes - allocated_bytes_) return codes::out_of_memory;
  const std::uint64_t whole = (bytes + alignment - 1) / alignment * alignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(alignment, whole));
  if (memory == nullptr) return codes::out_of_memory;
  // never zeros by chance
  std::fill_n(memory, std::min<std::uint64_t>(whole, 4096), std::byte{0xFF});
  allocations_.emplace(memory, Allocation{std::unique_ptr<std::byte, Free>(memory), bytes});
  allocated_bytes_ += bytes;
  *out = memory;
  return codes::success;
}

std::int32_t Device::release(void* pointer) {
  for (auto& [handle, stream] : streams_) drain(*stream);
  if (pointer == nullptr) return remember(codes::success);
  const auto found = allocations_.find(static_cast<const std::byte*>(pointer));
  if (found == allocations_.end()) return remember(codes::invalid_value);
  allocated_bytes_ -= found->second.bytes;
  allocations_.erase(found);
  return remember(codes::success);
}

bool Device::owns(const void* at, std::uint64_t bytes) const {
  const auto* first = static_cast<const std::byte*>(at);
  auto behind = allocations_.upper_bound(first);
  if (behind == allocations_.begin()) return false;
  const auto& [begin, allocation] = *std::prev(behind);
  const auto offset = static_cast<std::uint64_t>(first - begin);
  return offset <= allocation.bytes && bytes <= allocation.bytes - offset;
}

// ---- Streams ----

std::int32_t Device::create_stream(void** out) {
  if (sticky_ != codes::success) return sticky_;
  auto stream = std::make_unique<Stream>();
  *out = stream.get();
  streams_.emplace(*out, std::move(stream));
  return codes::success;
}

std::int32_t Device::destroy_stream(void* stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return codes::invalid_handle;
  drain(*found->second);
  streams_.erase(found);
  return remember(codes::success);
}

std::int32_t Device::enqueue(void* stream, Work work) {
  if (sticky_ != codes::success) return sticky_;
  if (!is_stream(stream)) return codes::invalid_handle;
  if (stream != nullptr) {
    streams_.at(stream)->work.push_back(std::move(work));
  } else {
    remember(work());  // shows at the next call
  }
  return codes::success;
}

// After an error, the rest of a stream does not run, as on a GPU.
void Device::drain(Stream& stream) {
  while (!stream.work.empty()) {
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    if (sticky_ == codes::success) remember(work());
  }
}

std::int32_t Device::synchronize(void* stream) {
  if (!is_stream(stream)) return remember(codes::invalid_handle);
  if (stream != nullptr) drain(*streams_.at(stream));
  return sticky_;
}

// ---- Events ----

std::int32_t Device::create_event(void** out) {
  if (sticky_ != codes::success) return sticky_;
  auto event = std::make_unique<Event>();
  *out = event.get();
  events_.emplace(*out, std::move(event));
  return codes::success;
}

std::int32_t Device::destroy_event(void* event) {
  return events_.erase(event) == 1 ? codes::success : codes::invalid_handle;
}

std::int32_t Device::record_event(void* event, void* stream) {
  if (!events_.contains(event) || !is_stream(stream)) return codes::invalid_handle;
  Event& known = *events_.at(event);
  known.stream = stream;
  known.recorded = true;
  return enqueue(stream, [&known] {
    known.at = std::chrono::steady_clock::now();
    return codes::success;
  });
}

std::int32_t Device::elapsed_ns(void* begin, void* end, double* ns) {
  if (!events_.contains(begin) || !events_.contains(end)) return codes::invalid_handle;
  const Event &first = *events_.at(begin), &last = *events_.at(end);
  if (!first.recorded || !last.recorded) return codes::invalid_handle;
  if (const std::int32_t code = synchronize(last.stream); code != codes::success) return code;
  *ns = std::chrono::duration<double, std::nano>(last.at - first.at).count();
  return codes::success;
}

std::int32_t Device::fail_launch(std::string what) {
  launch_failure_text_ = std::move(what);
  return codes::launch_failure;
}

}  // namespace plumbline::stand_in
