// Grows and maps the shared memory, places tensors in it, and writes and checks guard bytes.
#include "harness/provider/client/arena.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "harness/base/harness_failure.h"
#include "harness/provider/pages.h"

namespace plumbline {

namespace {
// Pages around slots that the worker leaves unmapped, so that an access a row or two beyond a
// tensor faults. They are cheap in a sparse file.
constexpr std::size_t gap_bytes = 16 * page_bytes;
constexpr std::size_t smallest_file_bytes = std::size_t{1} << 20;
constexpr std::size_t kept_bytes = std::size_t{1} << 30;

// Returns the length of the shared file, which is sparse. The length is sealed, because a worker
// that shortened the file would kill plumbline by SIGBUS. `ulimit -f` may allow less than the
// capacity.
std::size_t file_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return Arena::capacity_bytes;
  return std::min<std::size_t>(Arena::capacity_bytes, round_down(limit.rlim_cur, page_bytes));
}

bool is_zero(const std::byte* page) {
  return page[0] == std::byte{0} && std::memcmp(page, page + 1, page_bytes - 1) == 0;
}

// Returns a digest of whole pages. A page of zeros counts as untouched, because reading an
// untouched page allocates zeros.
std::uint64_t digest_of(const std::byte* base, std::size_t begin, std::size_t end) {
  std::uint64_t digest = 0;
  for (std::size_t at = begin; at < end; at += page_bytes) {
    if (!is_zero(base + at)) digest += XXH3_64bits_withSeed(base + at, page_bytes, at);
  }
  return digest;
}
}  // namespace

struct Arena::State {
  int descriptor = -1;
  std::byte* base = nullptr;   // the reservation of capacity_bytes
  std::size_t file_bytes = 0;  // length of the file
  std::size_t size_bytes = 0;  // the part of it that is mapped at base
  std::size_t used = 0;        // end of the last slot's pages
  std::vector<Slot> slots;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (base != nullptr) munmap(base, capacity_bytes);
    if (descriptor >= 0) close(descriptor);
  }

  // Maps at least `bytes` of the file. The new part follows the old one, so that nothing moves.
  Result<void> grow(std::size_t bytes);
  // Calls visit(first byte, count, distance of the first byte from the data) for the guard bytes on
  // both sides. Distances are negative before the data and begin at 1 after it.
  template <class Visit>
  void each_fence(const Slot& slot, Visit visit) const {
    visit(base + slot.page_begin, slot.offset - slot.page_begin,
          -static_cast<std::ptrdiff_t>(slot.offset - slot.page_begin));
    const std::size_t end = slot.offset + slot.bytes;
    visit(base + end, slot.page_end - end, std::ptrdiff_t{1});
  }
};

Result<void> Arena::State::grow(std::size_t bytes) {
  if (bytes <= size_bytes) return {};
  const std::size_t target =
      std::min(std::max({bytes, 2 * size_bytes, smallest_file_bytes}), file_bytes);
  void* at = mmap(base + size_bytes, target - size_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED, descriptor, static_cast<off_t>(size_bytes));
  if (at == MAP_FAILED) {
    end_if_short_of(errno, fmt::format("shared memory of {} bytes cannot be mapped", target));
    return fail(fmt::format("shared memory of {} bytes cannot be mapped: {}", target,
                            std::strerror(errno)));
  }
  size_bytes = target;
  return {};
}

Arena::Arena(std::unique_ptr<State> state) : state_(std::move(state)) {}
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;
Arena::~Arena() = default;

Result<Arena> Arena::create() {
  auto state = std::make_unique<State>();
  // Falls back to no seals if Linux lacks them.
  for (const unsigned flags : {MFD_CLOEXEC | MFD_ALLOW_SEALING, MFD_CLOEXEC}) {
    if (state->descriptor < 0) state->descriptor = memfd_create("plumbline-arena", flags);
  }
  if (state->descriptor < 0) {
    end_if_short_of(errno, "memfd_create failed");
    return fail(fmt::format("memfd_create failed: {}", std::strerror(errno)));
  }
  state->file_bytes = plumbline::file_bytes();
  if (ftruncate(state->descriptor, static_cast<off_t>(state->file_bytes)) != 0)
    return fail(fmt::format("shared memory cannot be made: {}", std::strerror(errno)));
  // Forbids further seals: a kernel could seal the file against writing by the next one.
  (void)fcntl(state->descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* base =
      mmap(nullptr, capacity_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    end_if_short_of(errno,
                    fmt::format("cannot reserve {} GiB of address space", capacity_bytes >> 30),
                    "remove the limit on address space (ulimit -v)");
    return fail(fmt::format("cannot reserve {} GiB of address space: {}", capacity_bytes >> 30,
                            std::strerror(errno)),
                "remove the limit on address space (ulimit -v)");
  }
  state->base = static_cast<std::byte*>(base);
  return Arena(std::move(state));
}

void Arena::reset() {
  state_->slots.clear();
  state_->used = 0;
  // One huge case should not hold its memory for the rest of a night. If this fails, only memory is
  // wasted.
  if (state_->size_bytes > kept_bytes) {
    (void)fallocate(state_->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(kept_bytes),
                    static_cast<off_t>(state_->size_bytes - kept_bytes));
  }
}

Result<std::size_t> Arena::place(std::string name, std::size_t bytes, Access access) {
  const std::size_t page_begin = state_->used + gap_bytes;
  const std::size_t most = state_->file_bytes;
  if (page_begin + gap_bytes > most || bytes > most - page_begin - gap_bytes) {
    return fail(most == capacity_bytes
                    ? fmt::format("{} of {} bytes does not fit: one case may use {} GiB in all",
                                  name, bytes, capacity_bytes >> 30)
                    : fmt::format("{} of {} bytes does not fit: `ulimit -f` allows {} bytes for "
                                  "all tensors of a case",
                                  name, bytes, most),
                most == capacity_bytes ? "make the problem smaller" : "raise `ulimit -f`");
  }
  const std::size_t page_end = page_begin + std::max(round_up(bytes, page_bytes), page_bytes);
  if (auto grown = state_->grow(page_end + gap_bytes); !grown) return tl::unexpected(grown.error());
  state_->slots.push_back({std::move(name), access, round_down(page_end - bytes, tensor_alignment),
                           bytes, page_begin, page_end});
  state_->used = page_end;
  const std::size_t index = state_->slots.size() - 1;
  write_fences(index);
  return index;
}

std::size_t Arena::slot_count() const { return state_->slots.size(); }

const Slot& Arena::slot(std::size_t index) const {
  assert(index < state_->slots.size());
  return state_->slots[index];
}

void* Arena::data(std::size_t index) { return state_->base + slot(index).offset; }
void* Arena::data(int slot, const TensorShape& shape) {
  return static_cast<std::byte*>(data(static_cast<std::size_t>(slot))) +
         static_cast<std::size_t>(shape.first) * size_in_bytes(shape.dtype);
}
const void* Arena::data(std::size_t index) const { return state_->base + slot(index).offset; }
std::vector<std::byte> Arena::contents(int slot_index) const {
  if (slot_index < 0) return {};
  const auto index = static_cast<std::size_t>(slot_index);
  const auto* begin = static_cast<const std::byte*>(data(index));
  return {begin, begin + slot(index).bytes};
}

void Arena::poison(std::size_t index) {
  std::memset(data(index), poison_byte, slot(index).bytes);
  write_fences(index);
}

void Arena::write_fences(std::size_t index) {
  state_->each_fence(slot(index), [](std::byte* fence, std::size_t count, std::ptrdiff_t) {
    std::memset(fence, fence_byte, count);
  });
}

std::vector<std::ptrdiff_t> Arena::broken_fence_bytes(std::size_t index) const {
  std::vector<std::ptrdiff_t> broken;
  state_->each_fence(slot(index),
                     [&](const std::byte* fence, std::size_t count, std::ptrdiff_t distance) {
                       for (std::size_t i = 0; i < count; ++i) {
                         if (fence[i] != std::byte{fence_byte})
                           broken.push_back(distance + static_cast<std::ptrdiff_t>(i));
                       }
                     });
  return broken;
}

std::uint64_t Arena::digest(std::size_t index) const {
  const Slot& s = slot(index);
  // For small slots, SEEK_DATA costs more than reading them.
  constexpr std::size_t little = std::size_t{1} << 20U;
  if (s.page_end - s.page_begin <= little) return digest_of(state_->base, s.page_begin, s.page_end);
  std::uint64_t digest = 0;
  // Skips untouched pages, nearly all pages of a sparse tensor.
  for (std::size_t at = s.page_begin; at < s.page_end;) {
    const off_t data = lseek(state_->descriptor, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    const off_t hole = data < 0 ? -1 : lseek(state_->descriptor, data, SEEK_HOLE);
    if (hole < 0) return digest + digest_of(state_->base, at, s.page_end);
    const std::size_t begin = std::max(at, round_down(static_cast<std::size_t>(data), page_bytes));
    const std::size_t end =
        std::min(s.page_end, round_up(static_cast<std::size_t>(hole), page_bytes));
    if (begin >= s.page_end) break;
    digest += digest_of(state_->base, begin, end);
    at = end;
  }
  return digest;
}

int Arena::descriptor() const { return state_->descriptor; }
std::size_t Arena::size_bytes() const { return state_->size_bytes; }

}  // namespace plumbline
