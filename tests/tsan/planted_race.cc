// A data race on purpose, inside oneTBB tasks: the suppressions of ci/tsan.supp must not hide it.
#include <tbb/parallel_for.h>

#include <cstdio>

int main() {
  int counter = 0;
  tbb::parallel_for(0, 100'000, [&counter](int) { ++counter; });
  std::printf("%d\n", counter);
  return 0;
}
