#include "server/log_levels/levels.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gcoord::server {

namespace {

constexpr std::array<std::string_view, kLogComponentCount> kComponentNames = {"node",
                                                                              "peers",
                                                                              "consensus",
                                                                              "clients",
                                                                              "locks",
                                                                              "sessions",
                                                                              "ledger",
                                                                              "disk",
                                                                              "http",
                                                                              "gpu",
                                                                              "links"};

constexpr auto kComponents = [] {
  std::array<LogComponent, kLogComponentCount> components{};
  for (std::size_t k = 0; k < kLogComponentCount; ++k) {
    components[k] = static_cast<LogComponent>(k);
  }
  return components;
}();

static_assert(kComponents.back() == LogComponent::Links);

// By the number of the level.
constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warn", "error", "off"};

template <typename Value, std::size_t count>
std::optional<Value> find_name(const std::array<std::string_view, count>& names,
                               std::string_view name) {
  const auto* found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt
                              : std::optional{static_cast<Value>(found - names.begin())};
}

Status wrong(std::string message) {
  return Status{StatusCode::InvalidArgument, std::move(message)};
}

Result<LogLevel> level_of(std::string_view word) {
  const auto level = find_name<LogLevel>(kLevelNames, word);
  return level ? Result<LogLevel>(*level)
               : Result<LogLevel>(
                     wrong("'" + std::string(word) + "' is none of off, error, warn, info, debug"));
}

Result<LogComponent> component_of(std::string_view word) {
  if (const auto component = find_name<LogComponent>(kComponentNames, word)) {
    return *component;
  }
  std::string known;
  for (const std::string_view name : kComponentNames) {
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return wrong("'" + std::string(word) + "' is no component of the log; there are " + known);
}

// Levels while words are read.
struct Reading {
  std::array<std::optional<LogLevel>, kLogComponentCount> named;
  std::optional<LogLevel> rest;

  Status add(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      GCOORD_TRY(const LogLevel level, level_of(word));
      return take(rest, level, "a level without a component");
    }
    const std::string_view name = word.substr(0, equals);
    GCOORD_TRY(const LogComponent component, component_of(name));
    GCOORD_TRY(const LogLevel level, level_of(word.substr(equals + 1)));
    return take(named[static_cast<std::size_t>(component)], level, name);
  }

 private:
  static Status take(std::optional<LogLevel>& place, LogLevel level, std::string_view what) {
    if (place) {
      return wrong(std::string(what) + " is given twice");
    }
    place = level;
    return Status{};
  }
};

}  // namespace

std::string_view log_component_name(LogComponent component) {
  return kComponentNames[static_cast<std::size_t>(component)];
}

std::string_view log_level_name(LogLevel level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

std::span<const LogComponent> log_components() {
  return kComponents;
}

Result<LogLevels> parse_log_levels(std::string_view text, const LogLevels& before) {
  if (text.size() > kLogLevelsBytesMax) {
    return wrong("the levels take more than " + std::to_string(kLogLevelsBytesMax) + " bytes");
  }
  Reading reading;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    GCOORD_TRY_STATUS(reading.add(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  LogLevels levels = before;
  for (const LogComponent component : kComponents) {
    const auto& named = reading.named[static_cast<std::size_t>(component)];
    levels.set(component, named.value_or(reading.rest.value_or(before.of(component))));
  }
  return levels;
}

std::string log_levels_text(const LogLevels& levels) {
  std::array<std::size_t, kLevelNames.size()> counts{};
  for (const LogLevel level : levels.levels) {
    ++counts[static_cast<std::size_t>(level)];
  }
  const auto most = static_cast<LogLevel>(std::ranges::max_element(counts) - counts.begin());
  std::string text{log_level_name(most)};
  for (const LogComponent component : kComponents) {
    if (levels.of(component) != most) {
      text += "," + std::string(log_component_name(component)) + "=" +
              std::string(log_level_name(levels.of(component)));
    }
  }
  return text;
}

}  // namespace gcoord::server
