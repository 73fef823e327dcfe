// A reader of the members of one JSON object from outside, which may lack some and have others:
// numbers may be strings, and the first member of a wrong kind is remembered. Pure; one thread.
#pragma once

#include "common/json/value.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace gcoord {

class JsonMembers {
 public:
  explicit JsonMembers(const Json& object) : object_(object) {}

  bool has(const char* name) const { return find(name) != nullptr; }

  // Empty when it is absent.
  std::string text(const char* name) {
    const Json* member = find(name);
    if (member == nullptr) {
      return {};
    }
    if (member->is_string()) {
      return member->text();
    }
    if (member->is_integer()) {
      return member->dump();
    }
    wrong(name);
    return {};
  }

  // 0 when it is absent.
  template <typename Number>
  Number number(const char* name) {
    const std::string digits = text(name);
    const char* end = digits.data() + digits.size();
    Number value = 0;
    const auto parsed = std::from_chars(digits.data(), end, value);
    if (has(name) && (parsed.ec != std::errc{} || parsed.ptr != end)) {
      wrong(name);
    }
    return value;
  }

  // All of an array of this size; zeros when it is absent.
  template <typename Number, std::size_t count>
  std::array<Number, count> numbers(const char* name) {
    std::array<Number, count> values{};
    const Json* member = find(name);
    if (member == nullptr) {
      return values;
    }
    if (!member->is_array() || member->size() != count) {
      wrong(name);
      return values;
    }
    for (std::size_t index = 0; index < count; ++index) {
      const std::string digits = (*member)[index].dump();
      const char* end = digits.data() + digits.size();
      const auto parsed = std::from_chars(digits.data(), end, values[index]);
      if (parsed.ec != std::errc{} || parsed.ptr != end) {
        wrong(name);
      }
    }
    return values;
  }

  bool flag(const char* name) {
    const Json* member = find(name);
    if (member != nullptr && !member->is_boolean()) {
      wrong(name);
    }
    return member != nullptr && member->is_boolean() && member->truth();
  }

  // One of the names, by its place among them; an absent member is the empty name.
  template <typename Enum, std::size_t count>
  Enum choice(const char* name, const std::array<std::string_view, count>& names) {
    const std::string given = text(name);
    for (std::size_t index = 0; index < count; ++index) {
      if (names[index] == given) {
        return static_cast<Enum>(index);
      }
    }
    wrong(name);
    return Enum{};
  }

  void require(const char* name) {
    if (!has(name)) {
      wrong(name);
    }
  }

  // Empty while all is well.
  const std::string& first_wrong() const { return wrong_; }

 private:
  const Json* find(const char* name) const { return object_.find(name); }

  void wrong(const char* name) {
    if (wrong_.empty()) {
      wrong_ = name;
    }
  }

  const Json& object_;
  std::string wrong_;
};

}  // namespace gcoord
