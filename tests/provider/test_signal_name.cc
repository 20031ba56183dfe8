// Names of signals in reasons, against the names of the C library.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <string>

#include "harness/provider/signal_name.h"

namespace plumbline {
namespace {

TEST(SignalName, AgreesWithTheCLibrary) {
  int named = 0;
  for (int number = 1; number < 32; ++number) {
    const std::string name = name_of_signal(number);
    if (name == "signal " + std::to_string(number)) continue;
    EXPECT_EQ(name, std::string("SIG") + sigabbrev_np(number));
    ++named;
  }
  EXPECT_EQ(named, 20);
}

TEST(SignalName, OtherSignalsAreNumbered) {
  EXPECT_EQ(name_of_signal(40), "signal 40");
  EXPECT_EQ(name_of_signal(SIGSEGV), "SIGSEGV");
}

}  // namespace
}  // namespace plumbline
