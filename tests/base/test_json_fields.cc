// The key of a member is its last name, and its value becomes JSON.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/json_fields.h"

namespace plumbline {
namespace {

enum class Colour { red, green };

struct Inner {
  double value = 0.5;
  double half() const { return value / 2; }
};
struct Row {
  std::string text = "a";
  Colour colour = Colour::green;
  Inner inner = {};
  const Inner* other = &inner;
};

using Json = nlohmann::ordered_json;

TEST(JsonFields, KeyIsLastNameOfPath) {
  const Row row;
  const Json object = {
      JSON_FIELDS(row, text, inner.value), {"typed", 1}, JSON_FIELDS(row, colour, other->half())};
  EXPECT_EQ(object.dump(), R"({"text":"a","value":0.5,"typed":1,"colour":"green","half":0.25})");
}

TEST(JsonFields, SingleFieldIsAnObject) {
  const Row row;
  const Json object = {JSON_FIELDS(row, text)};
  EXPECT_EQ(object.dump(), R"({"text":"a"})");
}

TEST(JsonFields, CustomWriter) {
  const Inner inner{std::nan("")};
  const auto doubled = [](double x) { return 2 * x; };
  EXPECT_EQ(Json({JSON_FIELDS_BY(doubled, Inner{}, value)}).dump(), R"({"value":1.0})");
  EXPECT_EQ(Json({JSON_FIELDS(inner, value)}).dump(), R"({"value":null})");
}

}  // namespace
}  // namespace plumbline
