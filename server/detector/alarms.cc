#include "server/detector/alarms.h"

#include <algorithm>

namespace gcoord::server {

using protocol::ClusterView;
using protocol::Member;
using protocol::MemberState;

namespace {

bool is_on_its_way(const Member& node) {
  return node.state == MemberState::Joining || node.state == MemberState::Leaving;
}

bool is_suspect(const Member& node) {
  return node.suspect && node.state != MemberState::Removed;
}

}  // namespace

std::string alarm_text(const MemberAlarm& alarm, const ClusterView& view, std::uint64_t wall_ms) {
  const std::string seconds =
      std::to_string((wall_ms - std::min(wall_ms, alarm.since_ms)) / 1000) + " s";
  const std::string node = "node " + std::to_string(alarm.node.value);
  if (alarm.kind == AlarmKind::SuspectForLong) {
    return node + " is suspect for " + seconds + ": start it again, or replace it";
  }
  const Member* const member = protocol::find_member(view, alarm.node);
  const bool leaves = member != nullptr && member->state == MemberState::Leaving;
  const bool invited = member != nullptr && member->invitation.has_value();
  if (invited) {
    return node + " is invited for " + seconds + " and has not come: start it, or remove it";
  }
  return node + (leaves ? " is leaving for " : " is joining for ") + seconds +
         ": see whether all nodes live and have room";
}

void Alarms::hold(const Key& key, std::uint64_t from_ms, std::uint64_t since_ms) {
  held_.try_emplace(key, Held{from_ms, since_ms, true});
}

std::uint64_t Alarms::limit_ms(AlarmKind kind) const {
  return kind == AlarmKind::NotConverged ? options_.converge_after_ms : options_.replace_after_ms;
}

void Alarms::refresh(const ClusterView& view, std::uint64_t now_ms, std::uint64_t wall_ms) {
  std::erase_if(held_, [&](const auto& each) {
    const Member* const node = protocol::find_member(view, each.first.first);
    const bool holds =
        node != nullptr &&
        (each.first.second == AlarmKind::NotConverged ? is_on_its_way(*node) : is_suspect(*node));
    return !holds;
  });
  for (const Member& node : view.nodes) {
    if (is_on_its_way(node)) {
      hold({node.id, AlarmKind::NotConverged}, now_ms, wall_ms);
    }
    if (is_suspect(node)) {
      // The view says since when, by the clock of the node that proposed it.
      const std::uint64_t age_ms = wall_ms - std::min(wall_ms, node.suspect_since_ms);
      hold({node.id, AlarmKind::SuspectForLong},
           now_ms - std::min(now_ms, age_ms),
           node.suspect_since_ms);
    }
  }
  list_those_due(now_ms);
}

void Alarms::list_those_due(std::uint64_t now_ms) {
  alarms_.clear();
  for (const auto& [key, held] : held_) {
    const std::uint64_t limit = limit_ms(key.second);
    if (limit != 0 && now_ms - held.from_ms >= limit) {
      alarms_.push_back({key.second, key.first, held.since_ms, held.armed});
    }
  }
}

std::size_t Alarms::armed_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(alarms_, &MemberAlarm::armed));
}

bool Alarms::disarm(const Choice& choice) {
  bool found = false;
  for (auto& [key, held] : held_) {
    const auto& [node, kind] = key;
    const bool chosen = (!choice.kind || *choice.kind == kind) &&
                        (choice.node.value == 0 || choice.node == node) && limit_ms(kind) != 0;
    held.armed = held.armed && !chosen;
    found = found || chosen;
  }
  for (MemberAlarm& alarm : alarms_) {
    alarm.armed = held_.at({alarm.node, alarm.kind}).armed;
  }
  return found;
}

}  // namespace gcoord::server
