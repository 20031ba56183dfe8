// Finds the shortened file in /proc/self/maps, using only calls that are safe in a signal handler.
#include "harness/cli/sigbus.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "harness/judge/exit_code.h"

namespace plumbline::cli {

namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;
std::array<char, max_bytes> maps;  // too large for a handler's stack

std::uintptr_t hexadecimal(std::string_view text) {
  std::uintptr_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

// Parses lines such as "7f00-7f10 r--s 0 00:01 42    /path/of/the file".
std::string_view file_at(std::uintptr_t address) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::size_t size = 0;
  for (ssize_t n = 0; file >= 0 && size < maps.size() &&
                      (n = read(file, maps.data() + size, maps.size() - size)) > 0;)
    size += static_cast<std::size_t>(n);
  std::string_view rest(maps.data(), size);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    const std::size_t dash = line.find('-'), path = line.find('/');
    if (dash == std::string_view::npos || path == std::string_view::npos) continue;
    const auto begin = hexadecimal(line), end = hexadecimal(line.substr(dash + 1));
    if (begin <= address && address < end) return line.substr(path);
  }
  return "a file";
}

void end(int, siginfo_t* signal, void*) {
  const auto print = [](std::string_view text) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  };
  print("plumbline: ");
  print(file_at(reinterpret_cast<std::uintptr_t>(signal->si_addr)));
  print(
      " was cut short by another process while it was read\n"
      "  remedy: if it is a database, check it (PRAGMA integrity_check) and restore it from a "
      "copy; "
      "then run again\n");
  _exit(exit_infrastructure);
}

}  // namespace

void install_sigbus_handler() {
  struct sigaction action {};
  action.sa_sigaction = end;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace plumbline::cli
