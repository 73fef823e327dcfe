#include "common/json/text.h"

#include "common/text/printable.h"
#include "common/utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gcoord {

namespace {

using Library = nlohmann::ordered_json;

// Reports of nodes have four. Writing and destroying are recursive.
constexpr int kDepthMax = 64;

void append_unit(std::string& text, std::uint32_t unit) {
  char escape[8];
  std::snprintf(escape, sizeof(escape), "\\u%04x", unit & 0xffffu);
  text += escape;
}

// Beyond 16 bits as the two units of UTF-16.
void append_escape(std::string& text, char32_t code_point) {
  if (code_point > 0xffff) {
    append_unit(text, 0xd800u + ((code_point - 0x10000u) >> 10));
    append_unit(text, 0xdc00u + ((code_point - 0x10000u) & 0x3ffu));
  } else {
    append_unit(text, code_point);
  }
}

// JSON with escapes for what would control a terminal. The library writes those below U+0020; the
// others stand in texts only, since all else in JSON is ASCII.
std::string escaped(std::string json) {
  const auto beyond = [](char byte) { return static_cast<unsigned char>(byte) >= 0x7f; };
  if (std::ranges::none_of(json, beyond)) {
    return json;
  }
  std::string text;
  for (std::string_view rest = json; !rest.empty();) {
    const Utf8Character first = utf8_first(rest);
    if (first.code_point >= 0x7f && !is_printable(first.code_point)) {
      append_escape(text, first.code_point);
    } else {
      text += rest.substr(0, first.bytes);
    }
    rest.remove_prefix(first.bytes);
  }
  return text;
}

}  // namespace

// From this value to the library's.
struct JsonText {
  enum class Order { AsAdded, ByName };

  Order order = Order::AsAdded;

  Library encode(const Json& json) const {
    return std::visit([this](const auto& held) { return encode(held); }, json.tree_);
  }

  Library encode(const Json::Elements& elements) const {
    Library all = Library::array();
    for (const Json& each : elements) {
      all.push_back(encode(each));
    }
    return all;
  }

  Library encode(const Json::Members& members) const {
    std::vector<const JsonMember*> ordered;
    ordered.reserve(members.size());
    std::ranges::transform(
        members, std::back_inserter(ordered), [](const JsonMember& each) { return &each; });
    if (order == Order::ByName) {
      std::ranges::sort(
          ordered, {}, [](const JsonMember* each) { return std::string_view{each->name}; });
    }
    Library::object_t all;
    for (const JsonMember* each : ordered) {
      all.emplace_back(each->name, encode(each->value));
    }
    return Library(std::move(all));
  }

  template <typename Scalar>
  Library encode(const Scalar& scalar) const {
    return Library(scalar);
  }

  // One line, or several with `indent` spaces for each level.
  std::string text(const Json& json, int indent = -1) const {
    return encode(json).dump(indent, ' ', false, Library::error_handler_t::replace);
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
  return escaped(JsonText{}.text(*this, indent));
}

std::string json_line(const Json& json) {
  return JsonText{}.text(json);
}

std::string canonical_json(const Json& json) {
  return JsonText{.order = JsonText::Order::ByName}.text(json);
}

}  // namespace gcoord
