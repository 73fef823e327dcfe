#include "common/json/value.h"

#include "common/assert.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace gcoord {

namespace {

using Library = nlohmann::ordered_json;

// Reports of nodes have four. Writing and destroying are recursive.
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
};

// Builds a value while the library reads. The library calls these by name.
struct JsonBuilder {
  Json root;
  std::vector<Json*> open = {};  // Arrays and objects that have not ended, the outermost first.
  Json* member = nullptr;        // Of the innermost object, if it awaits its value.
  std::string twice = {};        // A name that an object has twice; the later one stands.
  std::size_t wrong_byte = 0;
  bool too_deep = false;

  // The place of the next value.
  Json& next() {
    if (open.empty()) {
      return root;
    }
    if (open.back()->is_object()) {
      return *member;
    }
    open.back()->push_back(Json());
    return open.back()->back();
  }

  bool take(Json value) {
    next() = std::move(value);
    return true;
  }

  bool begin(Json container) {
    too_deep = open.size() >= std::size_t{kDepthMax};
    if (!too_deep) {
      Json& place = next();
      place = std::move(container);
      open.push_back(&place);
    }
    return !too_deep;
  }

  bool end() {
    open.pop_back();
    return true;
  }

  bool null() { return take(Json()); }

  bool boolean(bool truth) { return take(Json(truth)); }

  bool number_integer(std::int64_t number) { return take(Json(number)); }

  bool number_unsigned(std::uint64_t number) { return take(Json(number)); }

  bool number_float(double number, const std::string&) { return take(Json(number)); }

  bool string(std::string& text) { return take(Json(std::move(text))); }

  bool binary(Library::binary_t&) { return false; }

  bool start_object(std::size_t) { return begin(Json::object()); }

  bool key(std::string& name) {
    if (open.back()->contains(name)) {
      twice = name;
    }
    member = &(*open.back())[name];
    return true;
  }

  bool end_object() { return end(); }

  bool start_array(std::size_t) { return begin(Json::array()); }

  bool end_array() { return end(); }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) {
    wrong_byte = byte;
    return false;
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
  JsonBuilder builder;
  const bool read = Library::sax_parse(text.begin(), text.end(), &builder);
  return read ? std::move(builder.root) : Json();
}

Result<Json> Json::parse_strict(std::string_view text) {
  const auto malformed = [](const std::string& why) { return Status{StatusCode::DataLoss, why}; };
  JsonBuilder builder;
  if (Library::sax_parse(text.begin(), text.end(), &builder)) {
    return builder.twice.empty() ? Result<Json>{std::move(builder.root)}
                                 : malformed("'" + builder.twice + "' stands twice");
  }
  return malformed(builder.too_deep
                       ? "nested more than " + std::to_string(kDepthMax) + " levels deep"
                       : "byte " + std::to_string(builder.wrong_byte) + " is not JSON");
}

std::string Json::dump(int indent) const {
  return JsonText::encode(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
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

const Json& Json::front() const {
  return (*this)[std::size_t{0}];
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

void Json::update(const Json& other) {
  for (const JsonMember& each : other.items()) {
    (*this)[each.name] = each.value;
  }
}

}  // namespace gcoord
