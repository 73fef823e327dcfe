// Lines of the node's log, for people; printable, whoever's words are in them.
//
// A line belongs to a component, and costs one load and a branch while its level is off
// (server/log_levels/present.h); arguments are evaluated all the same, so a line whose words take
// work to make stands behind log_enabled(). The text is made in operator_log.cc and goes to
// spdlog's default logger, which gcoordd sets up, with the component as the name of the logger.
// spdlog's own functions would have every file that says something instantiate the formatter and
// the logger, which takes a compiler longer than the rest of most of them. Callable from any
// thread.
#pragma once

#include "server/log_levels/present.h"

#include <fmt/core.h>

#include <utility>

namespace gcoord::server {

struct LogOrigin {
  LogComponent component{};
  LogLevel level{};
};

// Writes the line, whatever its component's level.
void log_at(LogOrigin origin, fmt::string_view format, fmt::format_args arguments);

template <typename... Arguments>
void log_debug(LogComponent component,
               fmt::format_string<Arguments...> format,
               Arguments&&... arguments) {
  if (log_enabled(component, LogLevel::Debug)) {
    log_at({component, LogLevel::Debug}, format, fmt::make_format_args(arguments...));
  }
}

template <typename... Arguments>
void log_info(LogComponent component,
              fmt::format_string<Arguments...> format,
              Arguments&&... arguments) {
  if (log_enabled(component, LogLevel::Plain)) {
    log_at({component, LogLevel::Plain}, format, fmt::make_format_args(arguments...));
  }
}

template <typename... Arguments>
void log_warning(LogComponent component,
                 fmt::format_string<Arguments...> format,
                 Arguments&&... arguments) {
  if (log_enabled(component, LogLevel::Warning)) {
    log_at({component, LogLevel::Warning}, format, fmt::make_format_args(arguments...));
  }
}

template <typename... Arguments>
void log_error(LogComponent component,
               fmt::format_string<Arguments...> format,
               Arguments&&... arguments) {
  if (log_enabled(component, LogLevel::Error)) {
    log_at({component, LogLevel::Error}, format, fmt::make_format_args(arguments...));
  }
}

// Lines without a component are the node's own.
template <typename... Arguments>
void log_info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log_info(LogComponent::Node, format, std::forward<Arguments>(arguments)...);
}

template <typename... Arguments>
void log_warning(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log_warning(LogComponent::Node, format, std::forward<Arguments>(arguments)...);
}

template <typename... Arguments>
void log_error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  log_error(LogComponent::Node, format, std::forward<Arguments>(arguments)...);
}

}  // namespace gcoord::server
