// Rows of gcoordctl alarm: the union of what the nodes answered, and how alarms are named.
//
// An alarm is named "KIND:NODE". Each node has raised its own, so one alarm has a row whoever has
// it, with the earliest time. Pure but for add(); one thread.
#pragma once

#include "cli/terminal/output.h"
#include "gcoord/members.h"
#include "gcoord/status.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {

// Which alarms a user means.
struct AlarmChoice {
  std::optional<client::AlarmKind> kind;  // Empty: of all kinds.
  std::uint32_t about = 0;                // 0: about any node.
};

// Of "KIND:NODE", "KIND" or "all"; nothing for what is none of them.
std::optional<AlarmChoice> parse_alarm_choice(const std::string& text);

class AlarmRows {
 public:
  // What one node answered.
  void add(std::uint32_t node, const client::Result<std::vector<client::ClusterAlarm>>& answer);

  // Keeps those that match; whether there are any.
  bool keep(const AlarmChoice& choice);

  // Why there is nothing to print: no node has answered. OK when one has.
  client::Status failure() const;

  Json json() const;
  Table table() const;

 private:
  struct Row {
    std::chrono::system_clock::time_point since;
    std::string text;
    std::vector<std::uint32_t> raised_by;
    std::vector<std::uint32_t> armed_at;
  };

  using Key = std::pair<client::AlarmKind, std::uint32_t>;

  std::map<Key, Row> rows_;
  bool answered_ = false;
  client::Status failure_;
  std::vector<std::pair<std::uint32_t, client::Status>> unreachable_;
};

}  // namespace gcoord::cli
