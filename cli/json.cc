#include "cli/json.h"

#include "common/assert.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace gcoord::cli {

namespace {

using Library = nlohmann::ordered_json;

// Of what nodes send, which has four. Conversion is recursive.
constexpr int kDepthMax = 64;

}  // namespace

// Between this value and the library's.
struct JsonText {
  static Library encode(const Json& json) {
    return std::visit([](const auto& held) { return encode(held); }, json.tree_);
  }

  static Library encode(const Json::Elements& elements) {
    Library all = Library::array();
    for (const Json& each : elements) {
      all.push_back(encode(each));
    }
    return all;
  }

  static Library encode(const Json::Members& members) {
    Library all = Library::object();
    for (const JsonMember& each : members) {
      all[each.name] = encode(each.value);
    }
    return all;
  }

  template <typename Scalar>
  static Library encode(const Scalar& scalar) {
    return Library(scalar);
  }

  static bool decode(const Library& library, int depth, Json& json) {
    switch (library.type()) {
      case Library::value_t::array:
        return depth < kDepthMax && decode_elements(library, depth + 1, json);
      case Library::value_t::object:
        return depth < kDepthMax && decode_members(library, depth + 1, json);
      case Library::value_t::string:
        json = Json(library.get_ref<const std::string&>());
        return true;
      case Library::value_t::boolean:
        json = Json(library.get<bool>());
        return true;
      case Library::value_t::number_integer:
        json = Json(library.get<std::int64_t>());
        return true;
      case Library::value_t::number_unsigned:
        json = Json(library.get<std::uint64_t>());
        return true;
      case Library::value_t::number_float:
        json = Json(library.get<double>());
        return true;
      default:
        json = Json();
        return true;
    }
  }

  static bool decode_elements(const Library& library, int depth, Json& json) {
    json = Json::array();
    for (const Library& each : library) {
      Json element;
      if (!decode(each, depth, element)) {
        return false;
      }
      json.push_back(std::move(element));
    }
    return true;
  }

  static bool decode_members(const Library& library, int depth, Json& json) {
    json = Json::object();
    for (const auto& [name, value] : library.items()) {
      if (!decode(value, depth, json[name])) {
        return false;
      }
    }
    return true;
  }
};

Json::Json() : tree_(nullptr) {}

Json::Json(const char* text) : tree_(std::string{text}) {}

Json::Json(std::string text) : tree_(std::move(text)) {}

Json::Json(std::string_view text) : tree_(std::string{text}) {}

Json::Json(const std::vector<std::string>& texts) : tree_(Elements(texts.begin(), texts.end())) {}

Json::Json(const std::vector<std::uint32_t>& numbers)
    : tree_(Elements(numbers.begin(), numbers.end())) {}

Json::Json(double number) : tree_(number) {}

Json::Json(Exact, bool truth) : tree_(truth) {}

Json::Json(Exact, std::int64_t number) : tree_(number) {}

Json::Json(Exact, std::uint64_t number) : tree_(number) {}

Json::Json(std::initializer_list<Json> parts) : tree_(nullptr) {
  if (!std::ranges::all_of(parts, &Json::is_pair)) {
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

bool Json::is_object() const {
  return std::holds_alternative<Members>(tree_);
}

bool Json::is_string() const {
  return std::holds_alternative<std::string>(tree_);
}

bool Json::is_pair() const {
  const Elements* elements = std::get_if<Elements>(&tree_);
  return elements != nullptr && elements->size() == 2 && elements->front().is_string();
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

Json Json::parse(std::string_view text) {
  Json json;
  const bool fits = JsonText::decode(Library::parse(text, nullptr, false), 0, json);
  return fits ? json : Json();
}

std::string Json::dump() const {
  return JsonText::encode(*this).dump(-1, ' ', false, Library::error_handler_t::replace);
}

const std::string& Json::text() const {
  GCOORD_ASSERT(is_string());
  return std::get<std::string>(tree_);
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

const Json& Json::front() const {
  return (*this)[std::size_t{0}];
}

Json& Json::back() {
  GCOORD_ASSERT(std::holds_alternative<Elements>(tree_) && !empty());
  return std::get<Elements>(tree_).back();
}

void Json::push_back(Json element) {
  if (is_null()) {
    tree_.emplace<Elements>();
  }
  GCOORD_ASSERT(std::holds_alternative<Elements>(tree_));
  std::get<Elements>(tree_).push_back(std::move(element));
}

const Json& Json::operator[](std::size_t index) const {
  GCOORD_ASSERT(std::holds_alternative<Elements>(tree_) && index < size());
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
  const bool* truth = found != nullptr ? std::get_if<bool>(&found->tree_) : nullptr;
  return truth != nullptr ? *truth : otherwise;
}

void Json::update(const Json& other) {
  for (const JsonMember& each : other.items()) {
    (*this)[each.name] = each.value;
  }
}

}  // namespace gcoord::cli
