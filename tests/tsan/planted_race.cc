// A data race on purpose, between two threads of ours: the suppressions of ci/tsan.supp must not hide it. (Inside oneTBB tasks they do: the
// library is not instrumented, and its synchronisation is invisible to ThreadSanitizer.)
#include <cstdio>
#include <thread>

int main() {
  int counter = 0;
  const auto count = [&counter] {
    for (int i = 0; i < 100'000; ++i) ++counter;
  };
  std::thread other(count);
  count();
  other.join();
  std::printf("%d\n", counter);
  return 0;
}
