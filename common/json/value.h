// A value of JSON: the reports of nodes, the output of verbs and checkers, and files.
//
// nlohmann/json takes a compiler seconds per file, most of them to instantiate the code of a
// literal. So programs build, read and change this value, which has nothing to instantiate, and
// text.cc alone reads and writes text with the library. The names are the library's, as far as
// they are used. A value knows no text but dump(): reading, and text for programs, is in text.h. No
// errors: what is absent or of another type is said at each method, and a call that its comment
// forbids ends the process. One thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace gcoord {

struct JsonMember;

class Json {
 public:
  using Elements = std::vector<Json>;
  using Members = std::vector<JsonMember>;  // In the order in which they were added.

  Json();  // null

  Json(std::nullptr_t) : Json() {}

  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  Json(double number);

  // An array.
  template <typename Value>
  Json(const std::vector<Value>& values) : Json(array()) {
    for (const Value& each : values) {
      push_back(Json(each));
    }
  }

  // No pointer is a bool, and no number loses its sign.
  template <std::integral Number>
  Json(Number number) : Json(Exact::Type, Widest<Number>{number}) {}

  // Pairs that begin with text are an object, anything else is an array.
  Json(std::initializer_list<Json> parts);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array();
  static Json object();

  // As text, in one line or with `indent` spaces for each level. Bytes that are not UTF-8 become
  // U+FFFD; what is not printable is an escape. Defined in text.cc, beside the reading of text.
  std::string dump(int indent = -1) const;

  bool is_null() const;
  bool is_array() const;
  bool is_boolean() const;
  bool is_integer() const;
  bool is_object() const;
  bool is_string() const;

  // Only of one that is_string().
  const std::string& text() const;

  // Only of one that is_boolean().
  bool truth() const;

  // Of an array or an object; others have none.
  std::size_t size() const;

  bool empty() const { return size() == 0; }

  // The elements; none of what is no array.
  Elements::const_iterator begin() const;
  Elements::const_iterator end() const;

  // Only of an array that has some.
  Json& back();

  // null becomes an array.
  void push_back(Json element);

  const Json& operator[](std::size_t index) const;

  // The members; none of what is no object.
  const Members& items() const;

  // nullptr when there is no such member.
  const Json* find(std::string_view name) const;

  bool contains(std::string_view name) const { return find(name) != nullptr; }

  // null when there is no such member.
  const Json& operator[](std::string_view name) const;

  // Adds the member if there is none; null becomes an object.
  Json& operator[](std::string_view name);

  // The member, or what stands for it when there is none, or it is of another type.
  Json value(std::string_view name, const Json& otherwise) const;
  std::string value(std::string_view name, const std::string& otherwise) const;
  bool value(std::string_view name, bool otherwise) const;

 private:
  // Mutable, so that an initializer list, whose elements are constant, can be emptied.
  mutable std::variant<std::nullptr_t,
                       bool,
                       std::int64_t,
                       std::uint64_t,
                       double,
                       std::string,
                       Elements,
                       Members>
      tree_;

  enum class Exact : std::uint8_t { Type };

  template <typename Number>
  using Widest =
      std::conditional_t<std::same_as<Number, bool>,
                         bool,
                         std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>>;

  Json(Exact, bool truth);
  Json(Exact, std::int64_t number);
  Json(Exact, std::uint64_t number);

  friend struct JsonText;
  friend std::optional<std::uint64_t> unsigned_of(const Json& json);
  friend std::optional<double> number_of(const Json& json);
};

struct JsonMember {
  std::string name;
  Json value;
};

// A whole number from 0 on; none of what is text, has a fraction or is below 0.
std::optional<std::uint64_t> unsigned_of(const Json& json);

// Any number, rounded where a double does not hold it; none of what is no number.
std::optional<double> number_of(const Json& json);

// Members of `from` are added to `into`, or take the place of those of the same name. `into` is an
// object, or null, which becomes one with the first member.
void merge_members(Json& into, const Json& from);

}  // namespace gcoord
