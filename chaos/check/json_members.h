// Members of one JSON object that came from outside: numbers may be strings, and the first member
// that is not what it must be is remembered. Pure; one thread.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace gcoord::chaos {

class JsonMembers {
 public:
  explicit JsonMembers(const nlohmann::json& object) : object_(object) {}

  bool has(const char* name) const { return find(name) != nullptr; }

  // Empty when it is absent.
  std::string text(const char* name) {
    const nlohmann::json* member = find(name);
    if (member == nullptr) {
      return {};
    }
    if (member->is_string()) {
      return member->get<std::string>();
    }
    if (member->is_number_integer()) {
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

  bool flag(const char* name) {
    const nlohmann::json* member = find(name);
    if (member != nullptr && !member->is_boolean()) {
      wrong(name);
    }
    return member != nullptr && member->is_boolean() && member->get<bool>();
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
  const nlohmann::json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  void wrong(const char* name) {
    if (wrong_.empty()) {
      wrong_ = name;
    }
  }

  const nlohmann::json& object_;
  std::string wrong_;
};

}  // namespace gcoord::chaos
