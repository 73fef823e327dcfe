// Names of the values of an enum that counts from 0, as options are written. Pure; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace gcoord::chaos {

// `names` has one for each value, in their order. Nothing: it is none of them.
template <typename Value, std::size_t count>
std::optional<Value> value_named(const std::array<std::string_view, count>& names,
                                 std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return found != names.end() ? std::optional{static_cast<Value>(found - names.begin())}
                              : std::nullopt;
}

}  // namespace gcoord::chaos
