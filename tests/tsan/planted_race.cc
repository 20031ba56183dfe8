// Data races on purpose, which the suppressions of ci/tsan.supp must not hide. `planted_race
// threads` has one between two threads of ours, `planted_race tasks` between tasks of one parallel
// loop.
#include <cstdio>
#include <cstring>
#include <thread>

#include "harness/base/parallel.h"

namespace {

int counter = 0;

void count() {
  for (int i = 0; i < 100'000; ++i) ++counter;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "threads") == 0) {
    std::thread other(count);
    count();
    other.join();
  } else {
    plumbline::parallel_for(64, [](std::int64_t) { count(); });
  }
  std::printf("%d\n", counter);
  return 0;
}
