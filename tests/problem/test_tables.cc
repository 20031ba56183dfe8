// The tables of fields are complete: a member without a row fails here.
#include <gmock/gmock.h>

#include <set>
#include <string_view>

#include "harness/problem/problem_fields.h"
#include "harness/problem/rounding_spec_fields.h"

namespace plumbline {
namespace {

// Converts to the type of any member.
struct Anything {
  template <class T>
  operator T() const;
};

// Returns the number of members of an aggregate: the number of initialisers that it accepts.
template <class Aggregate, class... Initialisers>
constexpr std::size_t members() {
  if constexpr (requires { Aggregate{Initialisers{}..., Anything{}}; }) {
    return members<Aggregate, Initialisers..., Anything>();
  } else {
    return sizeof...(Initialisers);
  }
}

TEST(Tables, ProblemMembersHaveRows) {
  std::set<std::string_view> keys;
  for_each_member([&](const auto& field) {
    keys.insert(field.key);
    Problem changed;
    auto& value = changed.*field.member;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      value = "changed";
    } else {
      value = static_cast<std::decay_t<decltype(value)>>(static_cast<int>(value) == 1 ? 0 : 1);
    }
    EXPECT_NE(changed, Problem{}) << field.key;
  });
  EXPECT_EQ(keys.size(), members<Problem>());
}

TEST(Tables, RoundingSpecMembersHaveRows) {
  std::set<const void*> rows;
  const RoundingSpec spec;
  for_each_spec_field([&](auto, auto, auto of) { rows.insert(&of(spec)); });
  EXPECT_EQ(rows.size(), members<RoundingSpec>());
}

}  // namespace
}  // namespace plumbline
