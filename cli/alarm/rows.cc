#include "cli/alarm/rows.h"

#include "common/text/utc_text.h"
#include "protocol/members/alarm_messages.h"

#include <algorithm>
#include <charconv>

namespace gcoord::cli {

namespace {

std::string kind_text(client::AlarmKind kind) {
  return std::string{protocol::alarm_kind_name(static_cast<protocol::AlarmKind>(kind))};
}

std::string ids_text(const std::vector<std::uint32_t>& nodes) {
  std::string text;
  for (const std::uint32_t node : nodes) {
    text += (text.empty() ? "" : ",") + std::to_string(node);
  }
  return text;
}

}  // namespace

std::optional<AlarmChoice> parse_alarm_choice(const std::string& text) {
  if (text == "all") {
    return AlarmChoice{};
  }
  const std::size_t colon = text.find(':');
  const auto kind = protocol::parse_alarm_kind(text.substr(0, colon));
  if (!kind) {
    return std::nullopt;
  }
  AlarmChoice choice{.kind = static_cast<client::AlarmKind>(*kind)};
  if (colon == text.npos) {
    return choice;
  }
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, choice.about);
  const bool whole = read.ec == std::errc{} && read.ptr == end && choice.about != 0;
  return whole ? std::optional(choice) : std::nullopt;
}

void AlarmRows::add(std::uint32_t node,
                    const client::Result<std::vector<client::ClusterAlarm>>& answer) {
  if (!answer.ok()) {
    failure_ = failure_.ok() ? answer.status() : failure_;
    unreachable_.emplace_back(node, answer.status());
    return;
  }
  answered_ = true;
  for (const client::ClusterAlarm& alarm : answer.value()) {
    const auto [found, first] = rows_.try_emplace({alarm.kind, alarm.node_id});
    Row& row = found->second;
    if (first || alarm.since < row.since) {
      row.since = alarm.since;
      row.text = alarm.text;
    }
    row.raised_by.push_back(node);
    if (alarm.armed) {
      row.armed_at.push_back(node);
    }
  }
}

bool AlarmRows::keep(const AlarmChoice& choice) {
  std::erase_if(rows_, [&choice](const auto& each) {
    const auto& [kind, about] = each.first;
    const bool chosen =
        (!choice.kind || *choice.kind == kind) && (choice.about == 0 || choice.about == about);
    return !chosen;
  });
  return !rows_.empty();
}

client::Status AlarmRows::failure() const {
  return answered_ ? client::Status{} : failure_;
}

Json AlarmRows::json() const {
  const auto ids = [](const std::vector<std::uint32_t>& nodes) {
    Json list = Json::array();
    for (const std::uint32_t node : nodes) {
      list.push_back(node);
    }
    return list;
  };
  Json alarms = Json::array();
  for (const auto& [key, row] : rows_) {
    const std::string kind = kind_text(key.first);
    alarms.push_back({{"alarm", kind + ":" + std::to_string(key.second)},
                      {"kind", kind},
                      {"node", key.second},
                      {"since_ms", std::to_string(unix_ms(row.since))},
                      {"armed", !row.armed_at.empty()},
                      {"raised_by", ids(row.raised_by)},
                      {"armed_at", ids(row.armed_at)},
                      {"text", row.text}});
  }
  Json unreachable = Json::array();
  for (const auto& [node, status] : unreachable_) {
    unreachable.push_back({{"node", node}, {"error", status.to_string()}});
  }
  return {{"alarms", alarms}, {"unreachable", unreachable}};
}

Table AlarmRows::table() const {
  Table table{{"ALARM", "SINCE", "ARMED AT", "RAISED BY", "WHAT IT SAYS"}, {}, {}, {}};
  if (rows_.empty()) {
    table.columns.clear();
    table.caption = "no alarms";
  }
  for (const auto& [key, row] : rows_) {
    table.rows.push_back({kind_text(key.first) + ":" + std::to_string(key.second),
                          utc_text(unix_ms(row.since)),
                          row.armed_at.empty() ? "-" : ids_text(row.armed_at),
                          ids_text(row.raised_by),
                          row.text});
  }
  for (const auto& [node, status] : unreachable_) {
    table.notes.push_back("node " + std::to_string(node) + ": " + status.to_string());
  }
  return table;
}

}  // namespace gcoord::cli
