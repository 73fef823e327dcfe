// Payloads of MemberAlarms: the alarms that a node has raised about the cluster view.
//
// Each node has its own (server/detector/alarms.h), so all nodes are asked. Decoding is bounded.
// Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Never renumber: requests carry it.
enum class AlarmKind : std::uint8_t {
  NotConverged = 1,    // The node is joining or leaving for longer than --converge-after.
  SuspectForLong = 2,  // The view holds the node for failed for longer than --replace-after.
};

// "not-converged", "suspect-for-long"; "unknown" for a number of a later release.
std::string_view alarm_kind_name(AlarmKind kind);

// The kind of that name.
std::optional<AlarmKind> parse_alarm_kind(std::string_view name);

enum class AlarmAction : std::uint8_t {
  List = 1,
  Disarm = 2,  // Those that match; they count no more until they come anew.
};

inline constexpr std::size_t kAlarmWhoBytesMax = 128;
inline constexpr std::size_t kAlarmTextBytesMax = 512;
inline constexpr std::uint32_t kAlarmsMax = 256;

// Payload: action 1, kind 1, reserved 2, node 4, and the rest is `who`.
struct AlarmOrder {
  AlarmAction action = AlarmAction::List;
  std::optional<AlarmKind> kind;  // Disarm: of this kind only; none: of all.
  NodeId node;                    // Disarm: about this node only; 0: about any.
  std::string who;                // A principal, for the node's log. Nothing proves it.

  friend bool operator==(const AlarmOrder& a, const AlarmOrder& b) = default;
};

std::vector<std::byte> encode_alarm_order(const AlarmOrder& order);
Result<AlarmOrder> decode_alarm_order(std::span<const std::byte> payload);

struct AlarmRow {
  AlarmKind kind = AlarmKind::NotConverged;
  NodeId node;
  std::uint64_t since_ms = 0;  // Unix milliseconds: since when its condition holds.
  bool armed = true;
  std::string text;  // What it says, and what may be done.

  friend bool operator==(const AlarmRow& a, const AlarmRow& b) = default;
};

// The answer: the alarms of the node from then on. Texts are cut at kAlarmTextBytesMax, and rows
// beyond kAlarmsMax are left out. A later release may say more behind them.
std::vector<std::byte> encode_alarm_rows(std::span<const AlarmRow> rows);
Result<std::vector<AlarmRow>> decode_alarm_rows(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
