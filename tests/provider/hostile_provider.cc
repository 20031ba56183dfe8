// A provider for tests. Its kernels compute correct outputs but change what is not theirs, one way
// each: inputs, the arena, the state of the process, what happens after their call.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "plain_attention.h"
#include "plumbline_provider.hpp"

namespace {

using namespace plumbline::provider;

constexpr int arena_descriptor = 5;  // docs/worker-protocol.md
constexpr std::chrono::milliseconds a_while{40};

struct Place {
  char* begin = nullptr;
  std::size_t bytes = 0;
};

// Maps the arena again, whole and writable, and returns the tensor's data in it.
Place find_again(const plumbline_tensor& tensor) {
  struct stat file {};
  if (fstat(arena_descriptor, &file) != 0) return {};
  // in these tests all tensors are at its beginning
  const std::size_t bytes = std::min<std::size_t>(static_cast<std::size_t>(file.st_size), 1 << 20);
  void* const all = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena_descriptor, 0);
  if (all == MAP_FAILED) return {};
  char* const begin = static_cast<char*>(all);
  const auto* const data = static_cast<const char*>(tensor.data);
  char* const found = std::search(begin, begin + bytes, data, data + tensor.bytes);
  return found == begin + bytes ? Place{} : Place{found, tensor.bytes};
}

void write_zeros(const Place& place) { std::memset(place.begin, 0, place.bytes); }

template <class Write>
void after_the_call(Write write) {
  std::thread([write] {
    std::this_thread::sleep_for(a_while);
    write();
  }).detach();
}

// Fails if the process has another state than at the first call.
void look(const plumbline_tensors&) {
  const mode_t mask = umask(022);
  umask(mask);
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  struct sigaction handler {};
  sigaction(SIGUSR1, nullptr, &handler);
  std::string seen;
  if (std::fegetround() != FE_TONEAREST) seen += " rounding";
  if ((_mm_getcsr() & 0x8040U) != 0) seen += " ftz";
  if ((_mm_getcsr() & 0x1F80U) != 0x1F80U) seen += " traps";
  if (std::string(get_current_dir_name()) == "/") seen += " directory";
  if (mask == 0777) seen += " umask";
  if (sigismember(&blocked, SIGUSR1) == 1) seen += " mask";
  if (std::getenv("HOSTILE_NEW") != nullptr) seen += " variable";
  if (const char* path = std::getenv("PATH"); path != nullptr && path == std::string("/nowhere"))
    seen += " PATH";
  if (handler.sa_handler == SIG_IGN) seen += " handler";
  if (const char* secret = std::getenv("HOSTILE_TOKEN"); secret != nullptr)
    seen += std::string(" secret ") + secret;
  if (!seen.empty()) throw Refused(PLUMBLINE_ERROR, "seen:" + seen);
}

bool can_read(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  char first = 0;
  const bool is_open = file >= 0;
  const bool is_memory = path.ends_with("/mem");  // its first page is not mapped
  const bool can = is_open && (is_memory || read(file, &first, 1) == 1);
  if (is_open) close(file);
  return can;
}

void look_at_plumbline(const plumbline_tensors&) {
  const std::string parent = "/proc/" + std::to_string(getppid());
  std::string seen;
  if (can_read(parent + "/environ")) seen += " environment";
  if (can_read(parent + "/mem")) seen += " memory";
  if (!seen.empty()) throw Refused(PLUMBLINE_ERROR, "seen of plumbline:" + seen);
}

// A regular daemon: its parent exits at once, and it has its own session.
void leave_a_daemon(const plumbline_tensors&) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) execlp("sleep", "sleep", "600", nullptr);
    _exit(0);
  }
  close(ends[1]);
  if (child > 0) waitpid(child, nullptr, 0);
  char none = 0;
  while (read(ends[0], &none, 1) > 0) {  // ends when the daemon runs `sleep`
  }
  close(ends[0]);
}

struct Kernel {
  const char* name;
  void (*misbehave)(const plumbline_tensors& t);
};
constexpr std::array all_kernels{
    Kernel{"ok", [](const plumbline_tensors&) {}},
    Kernel{"slow", [](const plumbline_tensors&) { std::this_thread::sleep_for(3 * a_while); }},
    Kernel{"looks", look},
    Kernel{"looks_at_plumbline", look_at_plumbline},
    Kernel{"leaves_a_daemon", leave_a_daemon},
    Kernel{"rewrites_v",
           [](const plumbline_tensors& t) {
             write_zeros(find_again(t.v));
             std::memset(t.out.data, 0, t.out.bytes);
           }},
    Kernel{"shortens_arena",
           [](const plumbline_tensors&) {
             if (ftruncate(arena_descriptor, 0) == 0)
               throw Refused(PLUMBLINE_ERROR, "the arena is shorter");
           }},
    Kernel{"lengthens_arena",
           [](const plumbline_tensors&) {
             if (ftruncate(arena_descriptor, off_t{1} << 40) == 0)
               throw Refused(PLUMBLINE_ERROR, "the arena is longer");
           }},
    Kernel{"rounds_up", [](const plumbline_tensors&) { std::fesetround(FE_UPWARD); }},
    Kernel{"flushes", [](const plumbline_tensors&) { _mm_setcsr(_mm_getcsr() | 0x8040U); }},
    Kernel{"traps", [](const plumbline_tensors&) { feenableexcept(FE_OVERFLOW); }},
    Kernel{"changes_directory",
           [](const plumbline_tensors&) {
             if (chdir("/") != 0) throw Refused(PLUMBLINE_ERROR, "chdir");
           }},
    Kernel{"changes_umask", [](const plumbline_tensors&) { umask(0777); }},
    Kernel{"blocks_a_signal",
           [](const plumbline_tensors&) {
             sigset_t one;
             sigemptyset(&one);
             sigaddset(&one, SIGUSR1);
             pthread_sigmask(SIG_BLOCK, &one, nullptr);
           }},
    Kernel{"adds_a_variable", [](const plumbline_tensors&) { setenv("HOSTILE_NEW", "1", 1); }},
    Kernel{"changes_a_variable", [](const plumbline_tensors&) { setenv("PATH", "/nowhere", 1); }},
    Kernel{"handles_a_signal", [](const plumbline_tensors&) { signal(SIGUSR1, SIG_IGN); }},
    Kernel{"writes_late",
           [](const plumbline_tensors& t) {
             after_the_call([v = t.v] { static_cast<volatile char*>(v.data)[0] = 0; });
           }},
    Kernel{"works_then_writes_late",
           [](const plumbline_tensors& t) {
             std::thread([v = t.v] {
               const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
               while (std::chrono::steady_clock::now() < end) {
               }
               static_cast<volatile char*>(v.data)[0] = 0;
             }).detach();
           }},
    Kernel{"exits_late", [](const plumbline_tensors&) { after_the_call([] { _exit(7); }); }},
    Kernel{"crashes_once",
           [](const plumbline_tensors& t) {
             const int marker = open("crashed-once", O_CREAT | O_EXCL | O_WRONLY, 0600);
             if (marker < 0) return;
             close(marker);
             static_cast<volatile char*>(t.v.data)[0] = 0;
           }},
    Kernel{"writes_soon",
           [](const plumbline_tensors& t) {
             std::thread([v = t.v] {
               std::this_thread::sleep_for(std::chrono::milliseconds(2));
               static_cast<volatile char*>(v.data)[0] = 0;
             }).detach();
           }},
    Kernel{"rewrites_v_late",
           [](const plumbline_tensors& t) {
             after_the_call([place = find_again(t.v)] { write_zeros(place); });
           }},
};

struct Plan {
  plumbline_problem problem;
  void (*misbehave)(const plumbline_tensors& t);
};

struct Hostile : Library {
  using Kernel = ::Kernel;
  using Plan = ::Plan;
  static const char* name() { return "hostile"; }
  static const char* version() { return "1.0 (tests)"; }
  static const auto& kernels() { return all_kernels; }
  static std::string refusal(const Kernel&, const plumbline_problem& problem,
                             const plumbline_device&) {
    const char* const why = plain_attention_refusal(problem);
    return why == nullptr ? "" : why;
  }
  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors&, const plumbline_device&, std::uint64_t&) {
    return {problem, kernel.misbehave};
  }
  static void run(Plan& plan, const plumbline_tensors& tensors, void*) {
    plain_attention(plan.problem, tensors, [](float p) { return p; });
    plan.misbehave(tensors);
  }
  static void describe(const Plan&, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
    copy_text("plain attention", description.launched);
    copy_text("test-1", description.build_id);
  }
};

}  // namespace

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return serve<Hostile>(abi_version, options);
}
