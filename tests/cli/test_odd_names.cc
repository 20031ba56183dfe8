// Kernel names with any legal byte are stored and read back, and the command that repeats a case
// works.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

class OddNames : public test::CommandTest {
 protected:
  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
  }
  static std::string provider(const std::string& kernel) {
    return quoted(
        (test::build_directory / "lib" / "plumbline" / "plumbline_test_provider.so").string() +
        ":kernel_name=" + kernel);
  }
};

TEST_F(OddNames, LegalBytesAreStoredAndReproduced) {
  const std::string kernel = "o \"dd\" <b>&amp; 'd' %41 \\n $HOME `id` \xC3\xA9";
  const std::string id = "test/" + kernel + "/fp32/b1-h1-s3x5-d8";
  const auto run = plumbline("run --case " + quoted(id) + " --provider " + provider(kernel) +
                             " --db a.db --junit j.xml --markdown m.md");
  EXPECT_THAT(run.text, HasSubstr("1 case"));
  EXPECT_THAT(run.code, testing::AnyOf(0, 1)) << run.text;

  const auto parsed = shell(
      "python3 -c 'import xml.dom.minidom as x; d = x.parse(\"j.xml\"); "
      "print(\"\\n\".join(t.getAttribute(\"name\") for t in "
      "d.getElementsByTagName(\"testcase\")))'");
  EXPECT_EQ(parsed.code, 0) << parsed.text;
  EXPECT_THAT(parsed.text, HasSubstr(id));
  EXPECT_THAT(read("m.md"), Not(HasSubstr("<b>")));

  const auto stored =
      plumbline("query \"SELECT DISTINCT case_id FROM v_latest\" --db a.db --format json");
  ASSERT_EQ(stored.code, 0) << stored.text;
  EXPECT_THAT(nlohmann::json::parse(stored.text).dump(),
              HasSubstr(nlohmann::json(id).dump().substr(1, id.size() / 2)));

  const auto again = plumbline("run --case " + quoted(id) + " --provider " + provider(kernel) +
                               " --db a.db --format json -q");
  ASSERT_TRUE(nlohmann::json::accept(again.text)) << again.text;
}

TEST_F(OddNames, IllegalNamesAreRefused) {
  for (const std::string kernel : {"two\nlines", "a/b", "bytes", "device=x"}) {
    const auto run =
        plumbline("run --case test/refuse/fp32/b1-h1-s3x5-d8 --provider " + provider(kernel));
    EXPECT_NE(run.code, 0) << run.text;
    EXPECT_THAT(run.text, HasSubstr("a name is UTF-8 without control bytes"));
  }
}

}  // namespace
}  // namespace plumbline
