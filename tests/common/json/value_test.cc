// The value that gcoordctl prints: it is written as nlohmann/json, which it stands for, writes it.
#include "common/json/value.h"

#include "common/json/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gcoord {
namespace {

TEST(JsonTest, PairsThatBeginWithTextAreAnObjectInTheirOrder) {
  const Json json = {{"z", 1}, {"a", {{"inner", true}}}, {"none", nullptr}};
  EXPECT_EQ(json.dump(), R"({"z":1,"a":{"inner":true},"none":null})");
  EXPECT_EQ((Json{{"one", "pair"}}).dump(), R"({"one":"pair"})");
}

TEST(JsonTest, OtherListsAreArrays) {
  EXPECT_EQ((Json{1, "b", 2.5, Json::array()}).dump(), R"([1,"b",2.5,[]])");
  EXPECT_EQ((Json{{"a", "b", "c"}, {"d", 1}}).dump(), R"([["a","b","c"],["d",1]])");
  EXPECT_EQ((Json{"0"}).dump(), R"(["0"])");
  EXPECT_EQ(Json(std::vector<std::string>{"x", "y"}).dump(), R"(["x","y"])");
  EXPECT_EQ((Json{{"of_each_run", std::vector<double>{1.5, 2}}}).dump(),
            R"({"of_each_run":[1.5,2.0]})");
  EXPECT_EQ(Json(std::vector<std::uint32_t>{}).dump(), "[]");
}

TEST(JsonTest, TheFirstOfTwoMembersOfOneNameStandsInAList) {
  EXPECT_EQ((Json{{"a", 1}, {"a", 2}}).dump(), R"({"a":1})");
}

TEST(JsonTest, AListLeavesWhatItWasMadeOfAsItIs) {
  const Json rows = {1, 2};
  const Json json = {{"rows", rows}};
  EXPECT_EQ(json.dump(), R"({"rows":[1,2]})");
  EXPECT_EQ(rows.dump(), "[1,2]");
}

TEST(JsonTest, NumbersKeepTheirRangeAndSign) {
  const Json json = {
      std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<std::int64_t>::min(), 0.1};
  EXPECT_EQ(json.dump(), "[18446744073709551615,-9223372036854775808,0.1]");
  EXPECT_EQ(parse_json(json.dump()).dump(), json.dump());
}

TEST(JsonTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\"");
}

TEST(JsonTest, A12WhatWouldControlATerminalIsAnEscape) {
  const Json json = {{"a\u009b", "\x1b[2J\u202e\x7f\U0001fffe"}};
  EXPECT_EQ(json.dump(), R"({"a\u009b":"\u001b[2J\u202e\u007f\ud83f\udffe"})");
  EXPECT_EQ(parse_json(json.dump()).value("a\u009b", std::string{}), "\x1b[2J\u202e\x7f\U0001fffe");
  EXPECT_EQ(Json("\u00fc \u65e5").dump(), "\"\u00fc \u65e5\"");
}

TEST(JsonTest, WhatIsAbsentOrOfAnotherTypeIsWhatTheCallerSays) {
  const Json json = parse_json(R"({"text":"t","truth":true,"rows":[{"a":1},{"a":2}]})");
  EXPECT_EQ(json.value("text", std::string{"else"}), "t");
  EXPECT_EQ(json.value("truth", std::string{"else"}), "else");
  EXPECT_TRUE(json.value("truth", false));
  EXPECT_FALSE(json.value("text", false));
  EXPECT_EQ(json.value("absent", Json::array()).size(), 0U);
  EXPECT_EQ(Json("no object").value("rows", Json::array()).size(), 0U);
  std::string seen;
  for (const Json& row : json.value("rows", Json::array())) {
    seen += row["a"].dump() + row["absent"].dump();
  }
  EXPECT_EQ(seen, "1null2null");
}

TEST(JsonTest, UpdateReplacesMembersWhereTheyStandAndAddsTheOthers) {
  Json json = {{"a", 1}, {"b", 2}};
  merge_members(json, {{"c", 3}, {"a", 4}});
  json["d"] = Json::array();
  json["d"].push_back({{"e", 5}});
  json["d"].back()["f"] = "6";
  EXPECT_EQ(json.dump(), R"({"a":4,"b":2,"c":3,"d":[{"e":5,"f":"6"}]})");
}

TEST(JsonTest, TextThatIsNoJsonOrTooDeepIsNull) {
  EXPECT_TRUE(parse_json("{\"a\":").is_null());
  EXPECT_EQ(parse_json(std::string(64, '[') + std::string(64, ']')).size(), 1U);
  EXPECT_TRUE(parse_json(std::string(65, '[') + std::string(65, ']')).is_null());
  EXPECT_TRUE(parse_json(std::string(100'000, '[') + std::string(100'000, ']')).is_null());
}

TEST(JsonTest, AStrictReaderSaysWhatIsWrong) {
  EXPECT_EQ(parse_json_strict(R"({"a":{"b":[1,null]}})").value().dump(), R"({"a":{"b":[1,null]}})");
  EXPECT_EQ(parse_json_strict(R"({"a":1,"b":{"a":2}})").status().code(), StatusCode::Ok);
  EXPECT_EQ(parse_json_strict(R"({"a":1,"b":2,"a":3})").status().message(), "'a' stands twice");
  EXPECT_EQ(parse_json_strict(R"({"a":x})").status().message(), "byte 6 is not JSON");
  EXPECT_EQ(parse_json_strict("{} {}").status().message(), "byte 4 is not JSON");
  EXPECT_FALSE(parse_json_strict("1e999").ok());
  EXPECT_TRUE(parse_json_strict(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(parse_json_strict(std::string(65, '[') + std::string(65, ']')).status().code(),
            StatusCode::DataLoss);
}

TEST(JsonTest, TheLaterOfTwoMembersOfOneNameStandsInAText) {
  EXPECT_EQ(parse_json(R"({"a":[1],"b":2,"a":{"c":3}})").dump(), R"({"a":{"c":3},"b":2})");
}

TEST(JsonTest, ALineForProgramsHasNoEscapesForTerminals) {
  const Json json = {{"b", "\x1b[2J \u009b \u202e"}, {"a\xff", "\x7f"}};
  EXPECT_EQ(json_line(json), "{\"b\":\"\\u001b[2J \u009b \u202e\",\"a\ufffd\":\"\x7f\"}");
}

TEST(JsonTest, CanonicalTextHasTheMembersOfEachObjectInOrder) {
  const Json json =
      parse_json(R"({"b":[{"z":1,"y":-2}],"\u00fc":0,"a":{"2":true,"10":null},"B":1.50})");
  EXPECT_EQ(canonical_json(json),
            "{\"B\":1.5,\"a\":{\"10\":null,\"2\":true},\"b\":[{\"y\":-2,\"z\":1}],\"\u00fc\":0}");
  EXPECT_EQ(canonical_json(parse_json(canonical_json(json))), canonical_json(json));
  EXPECT_EQ(json_line(json), json.dump()) << "the value keeps its order";
}

TEST(JsonTest, AWholeNumberFromZeroOnIsUnsigned) {
  EXPECT_EQ(unsigned_of(parse_json("18446744073709551615")), 18446744073709551615U);
  EXPECT_EQ(unsigned_of(Json(7)), 7U);
  EXPECT_EQ(unsigned_of(Json(0U)), 0U);
  for (const char* other : {"-1", "1.0", "\"1\"", "true", "null", "[1]"}) {
    EXPECT_EQ(unsigned_of(parse_json(other)), std::nullopt) << other;
  }
}

TEST(JsonTest, AnyNumberIsADouble) {
  EXPECT_EQ(number_of(parse_json("18446744073709551615")), 18446744073709551616.0);
  EXPECT_EQ(number_of(Json(-7)), -7.0);
  EXPECT_EQ(number_of(parse_json("2.5e1")), 25.0);
  for (const char* other : {"\"1\"", "true", "null", "[1]", "{}"}) {
    EXPECT_EQ(number_of(parse_json(other)), std::nullopt) << other;
  }
}

TEST(JsonTest, IndentedTextHasALineForEachMember) {
  EXPECT_EQ((Json{{"a", 1}, {"b", Json::array()}}).dump(2), "{\n  \"a\": 1,\n  \"b\": []\n}");
}

}  // namespace
}  // namespace gcoord
