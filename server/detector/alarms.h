// Alarms about the cluster view: a change that does not end, and a node that has failed for long.
//
// An alarm is a condition that lasts: it comes by itself, goes by itself once the condition is
// over, and says what an operator may do; nothing else is done. An operator who has seen one
// disarms it: it stays in the list, and counts no more until it comes anew. Each node has alarms of
// its own, made of the view that all have; so no alarm needs a majority, and one that was disarmed
// comes back when its node starts anew (docs/adr/0112). Pure; one thread.
#pragma once

#include "common/ids.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/members/cluster_view.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

using protocol::AlarmKind;

struct AlarmOptions {
  std::uint32_t converge_after_ms = 600'000;
  std::uint32_t replace_after_ms = 300'000;  // 0: no alarm of this kind.
};

struct MemberAlarm {
  AlarmKind kind = AlarmKind::NotConverged;
  NodeId node;
  std::uint64_t since_ms = 0;  // Unix milliseconds: since when its condition holds.
  bool armed = true;

  friend bool operator==(const MemberAlarm& a, const MemberAlarm& b) = default;
};

// What it says, and what to do: "node 3 is joining for 700 s: ...".
std::string alarm_text(const MemberAlarm& alarm,
                       const protocol::ClusterView& view,
                       std::uint64_t wall_ms);

class Alarms {
 public:
  explicit Alarms(const AlarmOptions& options) : options_(options) {}

  // Compares with the view. `now_ms` only grows; `wall_ms`: Unix milliseconds.
  void refresh(const protocol::ClusterView& view, std::uint64_t now_ms, std::uint64_t wall_ms);

  // By node, then by kind.
  const std::vector<MemberAlarm>& list() const { return alarms_; }

  std::size_t armed_count() const;

  // Which alarms: of a kind or of all, about a node or, 0, about any.
  struct Choice {
    std::optional<AlarmKind> kind;
    NodeId node;
  };

  // Also those whose condition holds, but not for long enough yet: another node may have raised
  // them before. False: there is none.
  bool disarm(const Choice& choice);

 private:
  using Key = std::pair<NodeId, AlarmKind>;

  // Since when a condition holds.
  struct Held {
    std::uint64_t from_ms = 0;  // Of the clock that only grows.
    std::uint64_t since_ms = 0;
    bool armed = true;
  };

  std::uint64_t limit_ms(AlarmKind kind) const;
  void hold(const Key& key, std::uint64_t from_ms, std::uint64_t since_ms);
  void list_those_due(std::uint64_t now_ms);

  AlarmOptions options_;
  std::map<Key, Held> held_;
  std::vector<MemberAlarm> alarms_;
};

}  // namespace gcoord::server
