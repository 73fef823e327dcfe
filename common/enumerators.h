// Compile-time knowledge of an enum's enumerators, so that a table over an enum can be proved
// whole.
//
// C++20 has no reflection; the compilers print a template argument by its name when the value has
// one and as a cast number when it has none (g++ 12, clang 14), which is what this reads. Pure;
// compile time only.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace gcoord {

// Whether the enum names this value.
template <auto Value>
consteval bool is_enumerator() {
  // g++: "[with auto Value = gcoord::Colour::Red]" or "(gcoord::Colour)7"; clang likewise.
  const std::string_view text = __PRETTY_FUNCTION__;
  const char first = text[text.rfind("Value = ") + 8];
  return first != '(' && first != '-' && !(first >= '0' && first <= '9');
}

namespace enumerators_detail {

template <typename Enum, typename Predicate, std::size_t... kValues>
consteval bool all_of(Predicate predicate, std::index_sequence<kValues...>) {
  return ((predicate(static_cast<Enum>(kValues)) == is_enumerator<static_cast<Enum>(kValues)>()) &&
          ...);
}

}  // namespace enumerators_detail

// Whether the predicate holds for the enumerators of the enum and for no other value below kCount.
template <typename Enum, std::size_t kCount, typename Predicate>
consteval bool holds_for_enumerators_only(Predicate predicate) {
  return enumerators_detail::all_of<Enum>(predicate, std::make_index_sequence<kCount>{});
}

}  // namespace gcoord
