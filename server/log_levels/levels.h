// Components and levels of a node's log, and their text: "info,peers=debug".
//
// A line belongs to one component, and is written if its level is at least that of its component.
// Text is a list with commas: one level without a name at most, which is that of every component
// that the list does not name, and COMPONENT=LEVEL. Both sets of names are fixed; scripts match on
// them. Plain values and pure functions; thread-safe.
#pragma once

#include "common/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::server {

// What a line is about. The names are those of log_component_name().
enum class LogComponent : std::uint8_t {
  Node,       // The process: start, readiness, stop, options, requests about the log itself.
  Peers,      // Connections to the other nodes: up, down, refused.
  Consensus,  // Elections, roles, coordinators, votes, re-admission.
  Clients,    // Connections of clients, and slow requests.
  Locks,      // Lock tables: deadlocks, moves.
  Sessions,   // Expiries of sessions.
  Ledger,     // Signed history: publication, repair, bounds.
  Disk,       // The data directory: space, checkpoints, the log of record, snapshots.
  Http,       // The ports of metrics, health and ledger.
  Gpu,        // Devices: choice, faults, scans.
  Links,      // Device channels between nodes.
};

inline constexpr std::size_t kLogComponentCount = 11;

// In rising order: a component at Warning writes warnings and errors. Plain is "info".
enum class LogLevel : std::uint8_t { Debug, Plain, Warning, Error, Off };

// Bytes of a text of levels at most: every component with the longest level, twice over.
inline constexpr std::size_t kLogLevelsBytesMax = 512;

// "peers" and the like.
std::string_view log_component_name(LogComponent component);

// "off", "error", "warn", "info" or "debug".
std::string_view log_level_name(LogLevel level);

// All components, in the order of the enum.
std::span<const LogComponent> log_components();

struct LogLevels {
  std::array<LogLevel, kLogComponentCount> levels;

  // Every component at this level.
  static LogLevels all(LogLevel level) {
    LogLevels same{};
    same.levels.fill(level);
    return same;
  }

  LogLevel of(LogComponent component) const { return levels[static_cast<std::size_t>(component)]; }

  void set(LogComponent component, LogLevel level) {
    levels[static_cast<std::size_t>(component)] = level;
  }

  friend bool operator==(const LogLevels&, const LogLevels&) = default;
};

// Components that the text does not cover keep their level of `before`. InvalidArgument says which
// word is wrong and which there are: an unknown level or component, one that comes twice, no word.
Result<LogLevels> parse_log_levels(std::string_view text, const LogLevels& before);

// The shortest text that parse_log_levels() reads as these: the most frequent level first, then the
// components that differ.
std::string log_levels_text(const LogLevels& levels);

}  // namespace gcoord::server
