// Collects the barriers from emulator/cudart, and launches without one of them.
#include "tests/compiled/barriers.h"

#include <sstream>

#include "emulator/cudart/plumbline_cudart.h"

namespace plumbline::compiled::test {

Sites skip_each_barrier(const Load& load, const std::string& kernel, const std::string& arch,
                        const Ragged& of) {
  Sites sites;
  plumbline_cudart_take_sites(nullptr, 0);  // drops those of earlier launches
  const KernelResult whole = load("skip=1").run_problem(kernel, arch, of);
  sites.error = whole.error;
  std::string text(1 << 16, '\0');
  plumbline_cudart_take_sites(text.data(), text.size());
  std::istringstream lines(text.c_str());
  for (std::string line; std::getline(lines, line); ++sites.count) {
    const std::string number = line.substr(0, line.find(' '));
    bool seen = false;
    for (const char* schedule : {"in_order", "reversed", "random,seed=1", "random,seed=2"}) {
      const KernelResult without = load(std::string("schedule=") + schedule + ",skip=" + number)
                                       .run_problem(kernel, arch, of);
      seen = !without.error.empty() || without.out != whole.out || without.lse != whole.lse;
      if (seen) break;
    }
    if (!seen) sites.unseen += line + "\n";
  }
  return sites;
}

}  // namespace plumbline::compiled::test
