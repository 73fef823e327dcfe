#include "common/json/value.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord {

namespace {

// An array of text and anything else: in an initializer list, a member of an object.
bool is_pair(const Json& json) {
  return json.is_array() && json.size() == 2 && json[0].is_string();
}

}  // namespace

Json::Json() : tree_(nullptr) {}

Json::Json(const char* text) : tree_(std::string{text}) {}

Json::Json(std::string text) : tree_(std::move(text)) {}

Json::Json(std::string_view text) : tree_(std::string{text}) {}

Json::Json(double number) : tree_(number) {}

Json::Json(Exact, bool truth) : tree_(truth) {}

Json::Json(Exact, std::int64_t number) : tree_(number) {}

Json::Json(Exact, std::uint64_t number) : tree_(number) {}

Json::Json(std::initializer_list<Json> parts) : tree_(nullptr) {
  if (!std::ranges::all_of(parts, is_pair)) {
    Elements& elements = tree_.emplace<Elements>();
    for (const Json& each : parts) {
      elements.emplace_back().tree_ = std::move(each.tree_);
    }
    return;
  }
  tree_.emplace<Members>();
  for (const Json& each : parts) {
    const Elements& pair = std::get<Elements>(each.tree_);
    // The first of two of one name stands, as in the library.
    if (!contains(pair[0].text())) {
      (*this)[pair[0].text()].tree_ = std::move(pair[1].tree_);
    }
  }
}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

bool Json::is_null() const {
  return std::holds_alternative<std::nullptr_t>(tree_);
}

bool Json::is_array() const {
  return std::holds_alternative<Elements>(tree_);
}

bool Json::is_boolean() const {
  return std::holds_alternative<bool>(tree_);
}

bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(tree_) ||
         std::holds_alternative<std::uint64_t>(tree_);
}

bool Json::is_object() const {
  return std::holds_alternative<Members>(tree_);
}

bool Json::is_string() const {
  return std::holds_alternative<std::string>(tree_);
}

Json Json::array() {
  Json json;
  json.tree_.emplace<Elements>();
  return json;
}

Json Json::object() {
  Json json;
  json.tree_.emplace<Members>();
  return json;
}

const std::string& Json::text() const {
  GCOORD_ASSERT(is_string());
  return std::get<std::string>(tree_);
}

bool Json::truth() const {
  GCOORD_ASSERT(is_boolean());
  return std::get<bool>(tree_);
}

std::size_t Json::size() const {
  const Elements* elements = std::get_if<Elements>(&tree_);
  return elements != nullptr ? elements->size() : items().size();
}

Json::Elements::const_iterator Json::begin() const {
  const Elements* elements = std::get_if<Elements>(&tree_);
  return elements != nullptr ? elements->begin() : Elements::const_iterator{};
}

Json::Elements::const_iterator Json::end() const {
  const Elements* elements = std::get_if<Elements>(&tree_);
  return elements != nullptr ? elements->end() : Elements::const_iterator{};
}

Json& Json::back() {
  GCOORD_ASSERT(is_array() && !empty());
  return std::get<Elements>(tree_).back();
}

void Json::push_back(Json element) {
  if (is_null()) {
    tree_.emplace<Elements>();
  }
  GCOORD_ASSERT(is_array());
  std::get<Elements>(tree_).push_back(std::move(element));
}

const Json& Json::operator[](std::size_t index) const {
  GCOORD_ASSERT(is_array() && index < size());
  return std::get<Elements>(tree_)[index];
}

const Json::Members& Json::items() const {
  static const Members kNone;
  const Members* members = std::get_if<Members>(&tree_);
  return members != nullptr ? *members : kNone;
}

const Json* Json::find(std::string_view name) const {
  const auto found = std::ranges::find(items(), name, &JsonMember::name);
  return found != items().end() ? &found->value : nullptr;
}

const Json& Json::operator[](std::string_view name) const {
  static const Json kNull;
  const Json* found = find(name);
  return found != nullptr ? *found : kNull;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) {
    tree_.emplace<Members>();
  }
  GCOORD_ASSERT(is_object());
  Members& members = std::get<Members>(tree_);
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  return found != members.end() ? found->value
                                : members.emplace_back(JsonMember{std::string{name}, Json()}).value;
}

Json Json::value(std::string_view name, const Json& otherwise) const {
  const Json* found = find(name);
  return found != nullptr ? *found : otherwise;
}

std::string Json::value(std::string_view name, const std::string& otherwise) const {
  const Json* found = find(name);
  return found != nullptr && found->is_string() ? found->text() : otherwise;
}

bool Json::value(std::string_view name, bool otherwise) const {
  const Json* found = find(name);
  return found != nullptr && found->is_boolean() ? found->truth() : otherwise;
}

std::optional<std::uint64_t> unsigned_of(const Json& json) {
  if (const auto* number = std::get_if<std::uint64_t>(&json.tree_)) {
    return *number;
  }
  const auto* number = std::get_if<std::int64_t>(&json.tree_);
  return number != nullptr && *number >= 0 ? std::optional{static_cast<std::uint64_t>(*number)}
                                           : std::nullopt;
}

std::optional<double> number_of(const Json& json) {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        using Held = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<Held> && !std::same_as<Held, bool>) {
          return static_cast<double>(held);
        }
        return std::nullopt;
      },
      json.tree_);
}

void merge_members(Json& into, const Json& from) {
  for (const JsonMember& each : from.items()) {
    into[each.name] = each.value;
  }
}

}  // namespace gcoord
