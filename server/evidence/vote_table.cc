#include "server/evidence/vote_table.h"

#include "common/assert.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kKeptBytes = 256;  // What a statement takes beside its bytes, about.
constexpr std::size_t kShownMax = 16;    // Rivals of one statement that are remembered.

std::size_t size_of(std::span<const std::byte> bytes) {
  return bytes.size() + kKeptBytes;
}

}  // namespace

VoteTable::Added VoteTable::add(const VoteStatement& statement, std::span<const std::byte> bytes) {
  if (newest_ == std::numeric_limits<Number>::max()) {
    clear();
  }
  const Number number = newest_ + 1;
  Kept& kept = statements_[number];
  kept.voter = statement.voter;
  Added added;
  for (const VoteGrant& grant : statement.grants) {
    kept.uses += put(number, grant, added.rivals) ? 1 : 0;
  }
  if (kept.uses == 0) {
    statements_.erase(number);
    return added;
  }
  kept.bytes.assign(bytes.begin(), bytes.end());
  newest_ = number;
  added.number = number;
  Voter& voter = voters_[statement.voter];
  voter.statements.insert(number);
  voter.bytes += size_of(bytes);
  bytes_ += size_of(bytes);
  keep_bounds(statement.voter);
  return added;
}

// The newest statement stays: it is far below both bounds.
void VoteTable::keep_bounds(NodeId voter) {
  while (voters_[voter].bytes > options_.voter_bytes_max && voters_[voter].statements.size() > 1) {
    forget(*voters_[voter].statements.begin());
  }
  while (bytes_ > options_.bytes_max && statements_.size() > 1) {
    forget(oldest_of_most());
  }
}

// Of the voter that has most bytes, or of several such the oldest; not the newest of all.
VoteTable::Number VoteTable::oldest_of_most() const {
  Number oldest = 0;
  std::size_t most = 0;
  for (const auto& [id, voter] : voters_) {
    const Number first = *voter.statements.begin();
    const bool more = voter.bytes > most || (voter.bytes == most && first < oldest);
    if (first != newest_ && more) {
      most = voter.bytes;
      oldest = first;
    }
  }
  return oldest;
}

// Where the voter's vote of that shard is or shall be; nullptr: it is not to be kept. What stood
// there is released.
VoteTable::Vote* VoteTable::place_for(Row& row, const VoteGrant& grant, NodeId voter) {
  Vote* const end = row.votes.data() + row.count;
  Vote* vote = std::find_if(
      row.votes.data(), end, [voter](const Vote& each) { return each.voter == voter; });
  if (vote == end && row.count < kVotersMax) {
    ++row.count;
    return vote;
  }
  if (vote == end) {
    ++dropped_;  // This one, or the one that makes room for it.
    vote = std::min_element(
        row.votes.data(), end, [](const Vote& a, const Vote& b) { return a.term < b.term; });
  }
  if (vote->term >= grant.term) {
    return nullptr;
  }
  release(vote->statement);
  return vote;
}

// Whether the vote is kept by this statement.
bool VoteTable::put(Number number, const VoteGrant& grant, std::vector<NodeId>& rivals) {
  const NodeId voter = statements_[number].voter;
  Row& row = row_for(grant.shard);
  Vote* const vote = place_for(row, grant, voter);
  if (vote == nullptr) {
    return false;
  }
  *vote = {grant.term, number, voter};
  row.shown = static_cast<std::uint8_t>(row.shown & ~(1u << (vote - row.votes.data())));
  const bool met = row.rival.value != 0 && row.rival_term == grant.term;
  if (met && std::ranges::find(rivals, row.rival) == rivals.end()) {
    rivals.push_back(row.rival);
  }
  return true;
}

bool VoteTable::holds(const VoteGrant& of) const {
  const Row* row = row_of(of.shard);
  return row != nullptr && std::any_of(row->votes.begin(),
                                       row->votes.begin() + row->count,
                                       [&](const Vote& vote) { return vote.term == of.term; });
}

std::vector<VoteTable::Number> VoteTable::meet(const VoteGrant& of, NodeId rival) {
  Row& row = row_for(of.shard);
  if (row.rival != rival || row.rival_term != of.term) {
    row.rival = rival;
    row.rival_term = of.term;
    row.shown = 0;
  }
  std::vector<Number> unseen;
  for (std::uint8_t k = 0; k < row.count; ++k) {
    const unsigned bit = 1u << k;
    if (row.votes[k].term != of.term || (row.shown & bit) != 0) {
      continue;
    }
    if (was_shown(row.votes[k].statement, rival)) {
      row.shown = static_cast<std::uint8_t>(row.shown | bit);
    } else {
      unseen.push_back(row.votes[k].statement);
    }
  }
  return unseen;
}

VoteTable::Number VoteTable::find(const VoteGrant& of, NodeId voter) const {
  const Row* row = row_of(of.shard);
  if (row == nullptr) {
    return 0;
  }
  const auto* const end = row->votes.begin() + row->count;
  const auto* const vote = std::find_if(row->votes.begin(), end, [&](const Vote& each) {
    return each.voter == voter && each.term == of.term;
  });
  return vote == end ? 0 : vote->statement;
}

std::span<const std::byte> VoteTable::bytes_of(Number number) const {
  return kept(number).bytes;
}

bool VoteTable::was_shown(Number number, NodeId rival) const {
  const std::vector<NodeId>& shown = kept(number).shown;
  return std::ranges::find(shown, rival) != shown.end();
}

void VoteTable::set_shown(Number number, NodeId rival) {
  const auto kept = statements_.find(number);
  GCOORD_ASSERT(kept != statements_.end());
  std::vector<NodeId>& shown = kept->second.shown;
  if (shown.size() == kShownMax) {
    shown.erase(shown.begin());
  }
  shown.push_back(rival);
}

const VoteTable::Kept& VoteTable::kept(Number number) const {
  const auto found = statements_.find(number);
  GCOORD_ASSERT(found != statements_.end());
  return found->second;
}

std::uint64_t VoteTable::take_dropped() {
  return std::exchange(dropped_, 0);
}

const VoteTable::Row* VoteTable::row_of(ShardId shard) const {
  if (rows_.empty()) {
    return nullptr;
  }
  const Row& row = rows_[shard.value % rows_.size()];
  return row.shard == shard ? &row : nullptr;
}

VoteTable::Row& VoteTable::row_for(ShardId shard) {
  GCOORD_ASSERT(shard.value < options_.shard_count);
  if (rows_.empty()) {
    rows_.resize(std::min(options_.shard_count, kRowsMax));
    for (std::uint32_t k = 0; k < rows_.size(); ++k) {
      rows_[k].shard = ShardId{k};
    }
  }
  Row& row = rows_[shard.value % rows_.size()];
  if (row.shard != shard) {
    for (std::uint8_t k = 0; k < row.count; ++k) {
      ++dropped_;
      release(row.votes[k].statement);
    }
    row = Row{.shard = shard};
  }
  return row;
}

// One vote of the statement is kept no more.
void VoteTable::release(Number number) {
  const auto kept = statements_.find(number);
  GCOORD_ASSERT(kept != statements_.end() && kept->second.uses > 0);
  if (--kept->second.uses == 0 && !kept->second.bytes.empty()) {
    erase(kept);
  }
}

// None of its votes is kept any more.
void VoteTable::forget(Number number) {
  const auto kept = statements_.find(number);
  GCOORD_ASSERT(kept != statements_.end());
  const auto statement = decode_statement(kept->second.bytes);
  GCOORD_ASSERT(statement.has_value());
  for (const VoteGrant& grant : statement->grants) {
    Row& row = rows_[grant.shard.value % rows_.size()];
    for (std::uint8_t k = 0; k < row.count; ++k) {
      if (row.votes[k].statement == number) {
        --row.count;
        std::swap(row.votes[k], row.votes[row.count]);
        row.shown = 0;
        ++dropped_;
        break;
      }
    }
  }
  erase(kept);
}

void VoteTable::erase(std::map<Number, Kept>::iterator kept) {
  const NodeId id = kept->second.voter;
  Voter& voter = voters_[id];
  const std::size_t size = size_of(kept->second.bytes);
  voter.statements.erase(kept->first);
  voter.bytes -= size;
  bytes_ -= size;
  statements_.erase(kept);
  if (voter.statements.empty()) {
    voters_.erase(id);
  }
}

void VoteTable::clear() {
  for (const auto& [number, kept] : statements_) {
    dropped_ += kept.uses;
  }
  rows_.clear();
  statements_.clear();
  voters_.clear();
  newest_ = 0;
  bytes_ = 0;
}

}  // namespace gcoord::server
