#include "ledger/heads/history_hunt.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

HistoryHunt::HistoryHunt(NodeId self, std::vector<NodeId> peers, TreeOf tree_of)
    : self_(self), tree_of_(std::move(tree_of)) {
  set_peers(std::move(peers));
}

void HistoryHunt::set_peers(std::vector<NodeId> peers) {
  peers_ = std::move(peers);
  std::erase(peers_, self_);
}

void HistoryHunt::begin(const ledger::ShardHead& head) {
  if (holds(head.shard)) {
    return;
  }
  found_[head.shard] = {.node = self_, .shard = head.shard, .size = head.size};
  if (found_.size() <= kLocatedMax && !peers_.empty()) {
    queue_.push_back(head.shard);
  }
}

void HistoryHunt::open(std::uint64_t now_ms) {
  const HistoryAlarm& alarm = found_.at(queue_.front());
  tree_ = tree_of_(alarm.shard);
  give_up_ms_ = now_ms + kPatienceMs;
  ask_ms_ = 0;
  if (tree_ != nullptr && tree_->size() >= alarm.size && alarm.size > 0) {
    search_.emplace(*tree_, alarm.size);
  } else {
    close();
  }
}

void HistoryHunt::close() {
  if (search_ && search_->found()) {
    found_.at(queue_.front()).index = *search_->found();
  }
  search_.reset();
  tree_.reset();
  queue_.pop_front();
}

std::optional<HistoryHunt::Question> HistoryHunt::advance(std::uint64_t now_ms) {
  while (!queue_.empty() && !search_) {
    open(now_ms);
  }
  if (!search_) {
    return std::nullopt;
  }
  if (now_ms >= give_up_ms_) {
    close();
    return advance(now_ms);
  }
  if (now_ms < ask_ms_ || peers_.empty()) {
    return std::nullopt;
  }
  const auto range = search_->question();
  GCOORD_ASSERT(range);
  ask_ms_ = now_ms + kAskAgainMs;
  // Whoever does not answer, or has the same wrong history, is not asked twice in a row.
  peer_ = (peer_ + 1) % peers_.size();
  return Question{peers_[peer_], {queue_.front(), *range}};
}

bool HistoryHunt::on_answer(const HashMessage& message, std::uint64_t now_ms) {
  const auto asked = search_ ? search_->question() : std::nullopt;
  if (!asked || queue_.front() != message.shard || *asked != message.range) {
    return false;
  }
  const auto own = tree_->hashes(asked->level, asked->index, asked->count);
  const Status status = search_->on_answer(message.hashes);
  const bool comparable = own.ok() && own.value().size() == message.hashes.size();
  if (comparable && own.value() != message.hashes) {
    confirmed_.insert(message.shard);
  } else if (!own.ok() || (search_->ended() && !search_->found())) {
    // What lies under hashes that differ cannot be read or is the same: rot, here or there.
    confirmed_.erase(message.shard);
  }
  ask_ms_ = now_ms;
  if (!status.ok() || search_->ended()) {
    close();
  }
  return true;
}

void HistoryHunt::retry() {
  GCOORD_ASSERT(!busy());
  for (const auto& [shard, alarm] : found_) {
    if (!confirmed(shard) && queue_.size() < kLocatedMax && !peers_.empty()) {
      queue_.push_back(shard);
    }
  }
}

std::vector<HistoryAlarm> HistoryHunt::alarms() const {
  std::vector<HistoryAlarm> alarms;
  for (const auto& [shard, alarm] : found_) {
    alarms.push_back(alarm);
  }
  return alarms;
}

}  // namespace gcoord::server
