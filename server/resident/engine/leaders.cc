#include "server/resident/engine/leaders.h"

#include "consensus/step/quorum.h"

#include <algorithm>

namespace gcoord::server {

ResidentLeaders::ResidentLeaders(NodeId self,
                                 const TurnShape& shape,
                                 const LeaderTable& table,
                                 const ResidentNames& names)
    : names_(names),
      self_number_(names.number(self)),
      shape_(shape),
      table_(table),
      known_(shape.shard_count),
      seen_(std::size_t{shape.stripe_count} * table.stripe_pages) {
  begin_as(standing_members(shape.voters));
}

void ResidentLeaders::begin_forgotten() {
  begin_as(standing_members(shape_.voters) | standing_forgetful(shape_.voters));
}

void ResidentLeaders::begin_as(std::uint64_t standing) {
  LeaderWord word;
  word.slots = shape_.voters;
  word.standing = standing;
  std::fill(known_.begin(), known_.end(), encode(word));
  leader_count_ = unled_count_ = voting_count_ = forgotten_count_ = 0;
  count(word, shape_.shard_count);
}

bool ResidentLeaders::votes(const LeaderWord& word) const {
  const auto voters = static_cast<consensus::SlotMask>(word.voters() | word.voters_outgoing());
  return !word.forgetful() && consensus::has_slot(voters, self_number_.value - 1);
}

// Adds `rows` rows like this one; ~0u takes one away.
void ResidentLeaders::count(const LeaderWord& word, std::uint32_t rows) {
  leader_count_ += word.leads() ? rows : 0;
  unled_count_ += word.leader.value == 0 ? rows : 0;
  voting_count_ += votes(word) ? rows : 0;
  forgotten_count_ += word.forgetful() ? rows : 0;
}

const std::vector<ResidentLeaders::Change>& ResidentLeaders::look() {
  changes_.clear();
  const auto pages = static_cast<std::uint32_t>(seen_.size());
  std::uint32_t taken = 0;
  std::uint32_t looked = 0;
  for (; looked < pages && taken < kLookPagesMax && changes_.size() < kLookChangesMax; ++looked) {
    const std::uint32_t page =
        next_page_ + looked < pages ? next_page_ + looked : next_page_ + looked - pages;
    // Before the words: what is stored behind this is found by the next look.
    const std::uint64_t stamp = table_.look(page);
    if (stamp != seen_[page]) {
      seen_[page] = stamp;
      look_at(page);
      ++taken;
    }
  }
  next_page_ = pages == 0 ? 0 : (next_page_ + looked) % pages;
  return changes_;
}

void ResidentLeaders::look_at(std::uint32_t page) {
  const RowRange rows = rows_of_stripe(shape_, page / table_.stripe_pages);
  const std::uint32_t first = rows.first + page % table_.stripe_pages * kLeaderPageRows;
  const std::uint32_t end = std::min(first + kLeaderPageRows, rows.end);
  for (std::uint32_t row = first; row < end; ++row) {
    const std::uint64_t word = table_.read(row);
    if (word == known_[row] || word == 0) {
      continue;
    }
    if ((word & leader_said(shape_.voters)) == 0 ||
        decoded(word).term < decoded(known_[row]).term) {
      impossible_ = shard_of_row(row);
    } else {
      changes_.push_back({shard_of_row(row), with_id(word)});
    }
  }
}

void ResidentLeaders::set(const Change& change) {
  const LeaderWord before = known(change.shard);
  count(before, ~0u);
  count(change.word, 1);
  led_anew_ += before.leader.value == 0 && change.word.leader.value != 0 ? 1 : 0;
  LeaderWord word = change.word;
  word.leader = names_.number(word.leader);
  known_[row_of_shard(change.shard)] = encode(word);
}

}  // namespace gcoord::server
