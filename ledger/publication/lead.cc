// The publisher's part: rounds of heads, from the changed shards to an entry in the log of shard 0.
#include "common/assert.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/publication/publication.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// A proposal of which nothing was heard is made again: long beside any election, short beside an
// operator's patience. Twice the same round does no harm, the log takes one.
constexpr std::uint64_t kProposeAgainMs = 2000;
// Entries that may be undecided at once: all of the largest round, 65,536 heads in three megabytes
// of shard 0's log, three eighths of what a shard may have undecided, so that clients' entries
// there find room. A million heads are 24,000 entries, and each flight of them waits for a turn and
// a sync.
constexpr std::size_t kEntriesUnderWay = 1536;
// Heads of a round that are read again before they are published: some milliseconds of reading, as
// the last tile of a tree is hashed anew.
constexpr std::size_t kReadBackMax = 64;
// A shard that no majority agreed on is left alone for so long.
constexpr std::uint64_t kHoldMs = 1000;

}  // namespace

void Publication::lead() {
  propose_key();
  if (round_ && !follow_round()) {
    const bool ordered = !entry_roots_.empty() && state_.root() == entry_roots_.back();
    if (ordered) {
      round_.reset();
    } else {
      give_up_round();  // Something else was ordered in its place.
    }
    entry_roots_.clear();
  }
  if (round_) {
    settle_round();
  } else if (now_ms_ >= next_round_ms_ && up_to_date() && compared_ == state_.size() &&
             !hunt_.busy()) {
    begin_round();
  }
}

// What is in it will be collected again.
void Publication::give_up_round() {
  const std::uint64_t size = round_->options().old_size + round_->heads().size();
  if (const auto news = times_.give_up(size)) {
    news_ms_ = *news;
  }
  round_.reset();
}

void Publication::begin_round() {
  std::vector<ledger::ShardHead> heads = collect();
  if (heads.empty()) {
    return;
  }
  const bool full = heads.size() == options_.round_heads_max;
  // Without news what is published again alone is the round's.
  times_.begin({.news_ms = news_ms_ == 0 ? now_ms_ : news_ms_,
                .begin_ms = now_ms_,
                .size = state_.size() + heads.size(),
                .heads = heads.size()},
               port_.now_ms());
  news_ms_ = full ? news_ms_ : 0;
  next_round_ms_ = now_ms_ + (full ? 0 : options_.interval_ms);
  round_.emplace(PublicationRoundOptions{.self = options_.self,
                                         .nodes = options_.nodes,
                                         .batch = ++batch_,
                                         .old_size = state_.size(),
                                         .begin_ms = now_ms_},
                 std::move(heads));
  entry_roots_.clear();
  entries_ordered_ = 0;
  entries_proposed_ = 0;
  settle_round();
}

// The heads of the next changed shards. The first of them are read again from where they are kept:
// all, but for rounds in which very many shards have news.
std::vector<ledger::ShardHead> Publication::collect() {
  const std::vector<ShardId> shards = changed_shards();
  auto known = port_.heads(shards);
  if (!known.ok()) {
    fail(known.status());
    return {};
  }
  std::vector<ledger::ShardHead> heads;
  for (const ledger::ShardHead& head : known.value()) {
    const std::uint64_t before = heads_.at(head.shard).size;
    const bool again = head.size != 0 && head.size == before && heads_.refreshed(head.shard);
    if (head.size <= before && !again) {
      continue;
    }
    if (heads.size() >= kReadBackMax || read_back(head)) {
      heads.push_back(head);
    }
  }
  return heads;
}

// False: the head is not to be had again from the disk.
bool Publication::read_back(const ledger::ShardHead& head) {
  const auto tree = port_.tree(head.shard);
  const Status status = tree == nullptr ? Status{} : server::read_back(*tree, head);
  if (status.ok()) {
    return true;
  }
  held_[head.shard] = {now_ms_ + kHoldMs, news_ms_};
  // Damage does not pass, and only another publisher can publish the shard: somebody has to hear of
  // it. Anything else may, as when the tree was taken back since its size was read.
  if (status.code() == StatusCode::DataLoss) {
    doubt({.node = options_.self, .shard = head.shard, .size = head.size});
  }
  return false;
}

// As many as a round takes, in turn, so that none waits for ever behind busy ones of lower numbers.
std::vector<ShardId> Publication::changed_shards() {
  std::vector<ShardId> shards;
  const std::uint32_t count = heads_.shard_count();
  std::uint32_t shard = heads_.next_changed(cursor_);
  bool wrapped = false;
  while (shards.size() < options_.round_heads_max) {
    if (shard >= count) {
      if (wrapped || cursor_ == 0) {
        break;
      }
      wrapped = true;
      shard = heads_.next_changed(0);
      continue;
    }
    if (wrapped && shard >= cursor_) {
      break;
    }
    if (!is_held(ShardId{shard}) && !hunt_.holds(ShardId{shard})) {
      shards.push_back(ShardId{shard});
    }
    shard = heads_.next_changed(shard + 1);
  }
  cursor_ = shard >= count ? 0 : shard;
  return shards;
}

// Whether the shard is left alone for now. What it waited for counts for the round that has it.
bool Publication::is_held(ShardId shard) {
  const auto held = held_.find(shard);
  if (held == held_.end()) {
    return false;
  }
  if (now_ms_ < held->second.until_ms) {
    return true;
  }
  const std::uint64_t since_ms = held->second.news_ms;
  news_ms_ =
      news_ms_ == 0 || since_ms == 0 ? std::max(news_ms_, since_ms) : std::min(news_ms_, since_ms);
  held_.erase(held);
  return false;
}

void Publication::settle_round() {
  GCOORD_ASSERT(round_);
  if (!entry_roots_.empty()) {
    return propose_entries();
  }
  round_->send(now_ms_, [this](NodeId to, std::vector<std::byte> message) {
    port_.send(to, std::move(message));
  });
  switch (round_->outcome(now_ms_)) {
    case PublicationRound::Outcome::Pending:
      return;
    case PublicationRound::Outcome::Agreed:
      times_.agreed(port_.now_ms());
      if (const Status status = plan_entries(); !status.ok()) {
        return fail(status);
      }
      return propose_entries();
    case PublicationRound::Outcome::Split:
      return drop_disputed();
  }
}

void Publication::drop_disputed() {
  counters_.rounds_split.add();
  const std::vector<PublicationRound::Dispute> disputes = round_->disputes();
  give_up_round();
  for (const PublicationRound::Dispute& dispute : disputes) {
    const ShardId shard = dispute.head.shard;
    held_[shard] = {now_ms_ + kHoldMs, news_ms_};
    if (dispute.majority_root) {
      counters_.heads_different.add();
      hunt_.begin({shard, dispute.head.size, *dispute.majority_root});
    } else if (dispute.differs) {
      port_.on_alarm({.node = NodeId{0}, .shard = shard, .size = dispute.head.size});
    }
  }
  next_round_ms_ = now_ms_;
}

// The roots between the entries that the round is cut into: which tell its entries from others.
Status Publication::plan_entries() {
  const std::vector<ledger::ShardHead>& heads = round_->heads();
  GCOORD_TRY(auto frontier, ledger::frontier_at(port_.cluster_log(), round_->options().old_size));
  entry_roots_.push_back(ledger::root_of(frontier));
  for (std::size_t k = 0; k < heads.size(); ++k) {
    ledger::append_leaf(frontier, ledger::hash_leaf(ledger::encode_head(heads[k])));
    if ((k + 1) % kHeadsPerEntryMax == 0 || k + 1 == heads.size()) {
      entry_roots_.push_back(ledger::root_of(frontier));
    }
  }
  return Status{};
}

// Whether what is ordered is a part of this round, and something of it is left.
bool Publication::follow_round() {
  const std::uint64_t base = round_->options().old_size;
  if (entry_roots_.empty()) {
    return state_.size() == base;
  }
  const std::uint64_t heads = state_.size() - std::min(state_.size(), base);
  const std::uint64_t done = (heads + kHeadsPerEntryMax - 1) / kHeadsPerEntryMax;
  const bool ours = state_.size() >= base && done + 1 < entry_roots_.size() &&
                    heads % kHeadsPerEntryMax == 0 && state_.root() == entry_roots_[done];
  if (ours && done != entries_ordered_) {
    entries_ordered_ = done;
    entries_proposed_ = std::max(entries_proposed_, entries_ordered_);
    proposed_ms_ = now_ms_;
  }
  return ours;
}

void Publication::propose_entries() {
  const bool waits = entries_proposed_ > entries_ordered_;
  if (waits && now_ms_ >= proposed_ms_ + kProposeAgainMs) {
    counters_.proposals_repeated.add(entries_proposed_ - entries_ordered_);
    entries_proposed_ = entries_ordered_;
  }
  if (now_ms_ < propose_ms_) {
    return;
  }
  const std::vector<ledger::ShardHead>& heads = round_->heads();
  const std::size_t end = std::min(entry_roots_.size() - 1, entries_ordered_ + kEntriesUnderWay);
  for (; entries_proposed_ < end; ++entries_proposed_) {
    const std::size_t first = entries_proposed_ * kHeadsPerEntryMax;
    const std::size_t last = std::min(first + kHeadsPerEntryMax, heads.size());
    RoundEntry entry{.round = state_.round() + 1 + (entries_proposed_ - entries_ordered_),
                     .old_size = round_->options().old_size + first,
                     .root = entry_roots_[entries_proposed_ + 1],
                     .heads = {}};
    entry.heads.assign(heads.begin() + static_cast<std::ptrdiff_t>(first),
                       heads.begin() + static_cast<std::ptrdiff_t>(last));
    proposed_ms_ = now_ms_;
    counters_.rounds.add();
    port_.propose(encode(PublicationEntry{std::move(entry)}));
  }
}

// Keys that nodes announce and the log does not know, one at a time.
void Publication::propose_key() {
  if (now_ms_ < key_ms_) {
    return;
  }
  for (const auto& [node, key] : announced_) {
    const auto known = state_.keys().find(node);
    if (known == state_.keys().end() || known->second != key) {
      key_ms_ = now_ms_ + kRepeatMs;
      port_.propose(encode(PublicationEntry{KeyEntry{node, key}}));
      return;
    }
  }
}

}  // namespace gcoord::server
