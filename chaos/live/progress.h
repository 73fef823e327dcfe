// A line of a live run's progress, on stdout at once: it may be minutes until the next.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace gcoord::chaos {

template <typename... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  std::fputs((fmt::format(format, std::forward<Arguments>(arguments)...) + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace gcoord::chaos
