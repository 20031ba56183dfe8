// Enumerations that list themselves: names, values and values outside of them.
#include <gmock/gmock.h>

#include <cstdint>

#include "harness/base/enumeration.h"

namespace plumbline {

namespace {

using testing::ElementsAre;
using testing::Optional;

enum class Fruit : std::uint32_t {
  apple = 0,  // a comment, and an explicit value
  blood_orange,
  plum2
};
enum class Only { one };
struct Outer {
  enum class Inner { first, second };
};

}  // namespace

enum class Spoken { yes, not_yet };
template <>
inline constexpr std::array<std::string_view, 2> names_of<Spoken>{"yes", "not yet"};

namespace {

TEST(Enumeration, ListsValuesAndNames) {
  EXPECT_THAT(names_of<Fruit>, ElementsAre("apple", "blood_orange", "plum2"));
  EXPECT_THAT(all<Fruit>(), ElementsAre(Fruit::apple, Fruit::blood_orange, Fruit::plum2));
  EXPECT_THAT(names_of<Only>, ElementsAre("one"));
  EXPECT_THAT(names_of<Outer::Inner>, ElementsAre("first", "second"));
  for (const Fruit fruit : all<Fruit>()) {
    EXPECT_THAT(parse<Fruit>(name(fruit)), Optional(fruit));
    EXPECT_EQ(name(fruit).data()[name(fruit).size()], '\0');
  }
}

TEST(Enumeration, UnknownValuesAndNames) {
  EXPECT_EQ(name(static_cast<Fruit>(3)), "unknown");
  EXPECT_EQ(name(static_cast<Fruit>(0xFFFFFFFF)), "unknown");
  for (const char* text : {"", "Apple", "apple ", "blood", "3", "unknown"})
    EXPECT_EQ(parse<Fruit>(text), std::nullopt) << text;
}

TEST(Enumeration, CustomNames) {
  EXPECT_EQ(name(Spoken::not_yet), "not yet");
  EXPECT_THAT(parse<Spoken>("not yet"), Optional(Spoken::not_yet));
  EXPECT_EQ(parse<Spoken>("not_yet"), std::nullopt);
}

}  // namespace
}  // namespace plumbline
