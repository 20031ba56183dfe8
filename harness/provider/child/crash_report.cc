// Writes the crash message in a signal handler.
#include "harness/provider/child/crash_report.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "harness/provider/pages.h"

namespace plumbline {

namespace {

struct Region {
  std::array<char, 32> name{};
  std::uintptr_t begin = 0, end = 0;
  bool writable = false;
};

// All state is static: a handler may neither allocate nor lock.
std::array<Region, 32> regions;
std::atomic<std::size_t> region_count = 0;
std::atomic<const char*> current_phase = "idle";
std::atomic<std::uint64_t> current_request = 0;
std::atomic_flag reporting = ATOMIC_FLAG_INIT;
int report_descriptor = -1;
void (*report_epilogue)() = nullptr;
alignas(16) std::array<std::byte, std::size_t{64} << 10> alternate_stack;

// Addresses farther than this from all watched memory are printed as numbers.
constexpr std::uintptr_t nearby_bytes = std::uintptr_t{1} << 20;
constexpr std::uintptr_t null_bytes = 16 * page_bytes;

// Builds a line of text without the C library, because few of its functions are async-signal-safe.
class Line {
 public:
  Line& operator<<(const char* text) {
    for (; *text != '\0' && size_ < text_.size(); ++text) text_[size_++] = *text;
    return *this;
  }
  Line& operator<<(std::uint64_t number) { return in_base(number, 10); }
  Line& hex(std::uint64_t number) { return (*this << "0x").in_base(number, 16); }
  void send(int descriptor) const {
    for (std::size_t sent = 0; sent < size_;) {
      const ssize_t n = write(descriptor, text_.data() + sent, size_ - sent);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  }

 private:
  Line& in_base(std::uint64_t number, std::uint64_t base) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size() - 1;
    do {
      digits[--at] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return *this << &digits[at];
  }
  std::array<char, 512> text_{};
  std::size_t size_ = 0;
};

const char* signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

// Returns 0 within the region, otherwise the distance in bytes from its edge (1 = adjacent).
std::uintptr_t distance(const Region& region, std::uintptr_t address) {
  if (address < region.begin) return region.begin - address;
  return address < region.end ? 0 : address - region.end + 1;
}

const Region* nearest_region(std::uintptr_t address) {
  const Region* nearest = nullptr;
  for (std::size_t i = 0; i < region_count; ++i) {
    if (nearest == nullptr || distance(regions[i], address) < distance(*nearest, address))
      nearest = &regions[i];
  }
  return nearest;
}

void describe_address(Line& line, const siginfo_t& info, const ucontext_t& context) {
  constexpr greg_t write_bit = 2;  // in the x86 page-fault error code
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const bool is_write = (context.uc_mcontext.gregs[REG_ERR] & write_bit) != 0;
  const auto stack = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  if (info.si_code == SI_KERNEL) {
    line << "an address that is not canonical";
    return;
  }
  line << (is_write ? "write " : "read ");
  const Region* region = nearest_region(address);
  if (address < null_bytes) {
    line << "through a null pointer (address ";
    line.hex(address) << ")";
  } else if (region != nullptr && distance(*region, address) == 0) {
    line << (is_write ? "to " : "of ") << (region->writable ? "" : "read-only input ")
         << region->name.data() << ", byte " << address - region->begin;
  } else if (region != nullptr && distance(*region, address) <= nearby_bytes) {
    line << distance(*region, address) << " bytes "
         << (address < region->begin ? "before " : "after ") << region->name.data();
  } else if (address + null_bytes > stack && address < stack + null_bytes) {
    line << "beyond the end of the stack (stack overflow)";
  } else {
    line << "at the unmapped address ";
    line.hex(address);
  }
}

void report_crash(int number, siginfo_t* info, void* context) {
  if (reporting.test_and_set()) {
    for (;;) pause();  // another thread is reporting and will end the process
  }
  Line line;
  line << R"({"reply":"crash","id":)" << current_request.load() << R"(,"signal":")"
       << signal_name(number) << R"(","phase":")" << current_phase.load() << R"(","where":")";
  if (number == SIGSEGV || number == SIGBUS)
    describe_address(line, *info, *static_cast<const ucontext_t*>(context));
  line << "\"}\n";
  line.send(report_descriptor);
  if (report_epilogue != nullptr) report_epilogue();
  _exit(128 + number);
}

}  // namespace

void install_crash_report(int reply_descriptor, void (*epilogue)()) {
  report_descriptor = reply_descriptor;
  report_epilogue = epilogue;
  stack_t stack{};
  stack.ss_sp = alternate_stack.data();
  stack.ss_size = alternate_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = report_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaction(number, &action, nullptr);
}

void set_crash_request(std::uint64_t id) { current_request = id; }

CrashPhase::CrashPhase(const char* phase) : outer_(current_phase.exchange(phase)) {}
CrashPhase::~CrashPhase() { current_phase = outer_; }

void watch_memory(std::string_view name, const void* data, std::uint64_t bytes, bool writable) {
  const std::size_t index = region_count;
  if (index == regions.size()) return;
  Region region;
  std::copy_n(name.begin(), std::min(name.size(), region.name.size() - 1), region.name.begin());
  region.begin = reinterpret_cast<std::uintptr_t>(data);
  region.end = region.begin + bytes;
  region.writable = writable;
  regions[index] = region;
  region_count = index + 1;
}

void forget_watched_memory() { region_count = 0; }

}  // namespace plumbline
