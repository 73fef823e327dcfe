#include "common/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    text.push_back(static_cast<char>(each));
  }
  return text;
}

std::string encoded(const std::string& text) {
  return to_base64(std::as_bytes(std::span(text)));
}

TEST(Base64, SpellsWhatTheRfcSpells) {
  // RFC 4648 section 10.
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encoded(bytes), text);
    EXPECT_EQ(text_of(from_base64(text).value()), bytes);
  }
}

TEST(Base64, RefusesEveryOtherSpelling) {
  for (const char* text : {"Zg",
                           "Zg=",
                           "Zg===",
                           "Zh==",
                           "Zm9=",
                           "Z===",
                           "====",
                           "A=AA",
                           "Zm9v\n",
                           "Zm9v====",
                           "Zm-v",
                           "AAAA=AAA"}) {
    EXPECT_FALSE(from_base64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace gcoord
