#include "ledger/publication/history_quarantine.h"

#include <utility>

namespace gcoord::server {
namespace {

// Other nodes that did not say where histories differ may be there by then.
constexpr std::uint64_t kHuntAgainMs = 10'000;

}  // namespace

HistoryQuarantine::HistoryQuarantine(PublicationBase& base)
    : base_(base), hunt_(base.options.self, base.options.nodes, [&base](ShardId shard) {
        return base.port.tree(shard);
      }) {}

std::shared_ptr<const ledger::TreeReader> HistoryQuarantine::tree(ShardId shard) const {
  return base_.has_shard(shard) && !suspects(shard) ? base_.port.tree(shard) : nullptr;
}

Result<std::vector<ledger::ShardHead>> HistoryQuarantine::heads_at(
    std::span<const ledger::ShardHead> named) const {
  std::vector<ledger::ShardHead> usable;
  for (const ledger::ShardHead& each : named) {
    if (base_.has_shard(each.shard) && !suspects(each.shard)) {
      usable.push_back(each);
    }
  }
  GCOORD_TRY(const std::vector<ledger::ShardHead> known, base_.port.heads_at(usable));
  std::vector<ledger::ShardHead> heads;
  for (auto next = known.begin(); const ledger::ShardHead& each : named) {
    const bool found = next != known.end() && next->shard == each.shard;
    heads.push_back(found ? *next++
                          : ledger::ShardHead{.shard = each.shard, .size = 0, .root = {}});
  }
  return heads;
}

void HistoryQuarantine::advance(bool all_compared) {
  if (hunt_.empty()) {
    return;
  }
  if (const auto question = hunt_.advance(base_.now_ms)) {
    base_.send(question->to, question->query);
  }
  // All that the ordered log shows is found before anything is repaired.
  if (hunt_.busy() || !all_compared) {
    return;
  }
  // A repair erases the shard here, log and checkpoint: not for what may be rot of the history
  // alone, and never where no other node has the shard.
  std::vector<HistoryAlarm> alarms = hunt_.alarms();
  std::erase_if(alarms, [this](const HistoryAlarm& alarm) {
    const bool confirmed = hunt_.confirmed(alarm.shard);
    if (!confirmed) {
      doubt(alarm);
    }
    return !confirmed;
  });
  if (alarms.empty()) {
    if (hunt_ms_ == 0) {
      hunt_ms_ = base_.now_ms;
    } else if (base_.now_ms >= hunt_ms_ + kHuntAgainMs) {
      hunt_ms_ = 0;
      hunt_.retry();
    }
    return;
  }
  quarantined_ = true;
  for (const HistoryAlarm& alarm : alarms) {
    base_.send_all(AlarmMessage{alarm.shard, alarm.index});
    base_.port.on_alarm(alarm);
  }
  base_.counters.signing.set(0);
  base_.port.quarantine(alarms);
}

void HistoryQuarantine::doubt(HistoryAlarm alarm) {
  if (doubted_.insert(alarm.shard).second) {
    alarm.unconfirmed = true;
    base_.counters.signing.set(0);
    base_.port.on_alarm(alarm);
  }
}

// Answered from a suspected tree too: others may locate the difference in it.
bool HistoryQuarantine::on(NodeId from, const HashQuery& message) {
  if (!base_.has_shard(message.shard)) {
    return false;
  }
  const auto tree = base_.port.tree(message.shard);
  if (tree == nullptr) {
    return true;
  }
  auto hashes = tree->hashes(message.range.level, message.range.index, message.range.count);
  if (hashes.ok()) {
    base_.send(from, HashMessage{message.shard, message.range, std::move(hashes).value()});
  }
  return true;
}

bool HistoryQuarantine::on(const HashMessage& message) {
  // One that comes late is no mistake.
  hunt_.on_answer(message, base_.now_ms);
  return true;
}

bool HistoryQuarantine::on(NodeId from, const AlarmMessage& message) {
  if (!base_.has_shard(message.shard)) {
    return false;
  }
  base_.port.on_alarm({.node = from, .shard = message.shard, .index = message.index});
  return true;
}

}  // namespace gcoord::server
