#include "common/json/text.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

Json parse_json(std::string_view text) {
  JsonBuilder builder;
  const bool read = Library::sax_parse(text.begin(), text.end(), &builder);
  return read ? std::move(builder.root) : Json();
}

Result<Json> parse_json_strict(std::string_view text) {
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

}  // namespace gcoord
