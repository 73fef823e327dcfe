#include "server/reads/replica_reads.h"

#include "common/assert.h"
#include "common/name_hash.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::ReadConsistency;

// Room that a reply leaves for its shards and verdicts.
constexpr std::size_t kRowBytesMax = protocol::kPayloadBytesMax / 2;

// How long a monotonic read waits at most, whatever the client says: a position of another cluster
// would hold its memory for ever.
constexpr std::uint64_t kMonotonicWaitMs = 60'000;

// A serializable read that finds the age older than this has the leader asked, for the next one;
// but not more often than four times a second.
constexpr std::uint64_t kAgeStaleUs = 1'000'000;
constexpr std::uint64_t kAskAgainUs = 250'000;

// What the age of a leader's answer may cost: a device answers within a turn.
constexpr std::uint64_t kProofWaitMs = 100;

bool by_leader(ReadConsistency consistency) {
  return consistency == ReadConsistency::Linearizable || consistency == ReadConsistency::Lease;
}

// How long a read waits for what no leader confirms; `asked_ms`: the client's patience, of which
// three quarters, so that it still hears why.
std::uint64_t patience_ms(const protocol::ReadTerms& terms, std::uint64_t asked_ms) {
  switch (terms.consistency) {
    case ReadConsistency::Bounded:
      return terms.staleness_ms;
    case ReadConsistency::Serializable:
      return std::min(asked_ms / 4 * 3, kProofWaitMs);
    default:
      return std::min(asked_ms / 4 * 3, kMonotonicWaitMs);
  }
}

}  // namespace

std::size_t ReplicaReads::Group::held_bytes() const {
  constexpr std::size_t kNodeBytes = 64;  // Of a tree, beside what it holds.
  return sizeof(Group) + payload.size() + parts.size() * (sizeof(Part) + kNodeBytes) +
         terms.after.size() * sizeof(protocol::ShardPosition);
}

ReplicaReads::ReplicaReads(std::uint32_t shard_count,
                           const locks::LockCpu& locks,
                           ReplicaAges& ages,
                           Environment doors)
    : shard_count_(shard_count), locks_(locks), ages_(ages), environment_(std::move(doors)) {}

void ReplicaReads::refuse(const Group& group, ErrorCode error) {
  environment_.answer(group.connection, error_reply(group.request, error), {});
}

void ReplicaReads::start(protocol::ConnectionId connection,
                         const protocol::RequestSlot& request,
                         std::span<const std::byte> payload,
                         std::uint64_t now_us) {
  Group group;
  group.connection = connection;
  group.request = request;
  group.payload.assign(payload.begin(), payload.end());
  if (request.kind == protocol::RequestKind::LockRead) {
    start_read(std::move(group), now_us);
  } else {
    start_list(std::move(group), now_us);
  }
}

void ReplicaReads::start_read(Group group, std::uint64_t now_us) {
  auto read = protocol::decode_lock_read(group.payload);
  if (!read.ok()) {
    return refuse(group, protocol::refusal_of(read.status()));
  }
  group.terms = std::move(read.value().terms);
  for (const protocol::TokenCheck& each : read.value().names) {
    group.parts.try_emplace(shard_of(hash_name(each.name), shard_count_).value);
  }
  if (group.parts.size() == 1 && by_leader(group.terms.consistency)) {
    const ShardId shard{group.parts.begin()->first};
    if (!environment_.leads(shard)) {
      environment_.answer(
          group.connection, not_leader_reply(group.request, environment_.leader_hint(shard)), {});
      return;
    }
  }
  begin(std::move(group), now_us);
}

// Which shards a page must wait for: all of them if it is to be no older than asked, since a lock
// that is not here yet may be in any.
void ReplicaReads::start_list(Group group, std::uint64_t now_us) {
  auto list = protocol::decode_read_list(group.payload);
  if (!list.ok()) {
    return refuse(group, protocol::refusal_of(list.status()));
  }
  locks::LockRow first;
  if (by_leader(list.value().terms.consistency) ||
      !decode_cursor(list.value().query.cursor, first)) {
    return refuse(group, ErrorCode::PayloadMalformed);
  }
  group.terms = std::move(list.value().terms);
  if (group.terms.consistency == ReadConsistency::Bounded) {
    if (shard_count_ > protocol::kReadShardsMax) {
      return refuse(group, ErrorCode::LimitOutOfRange);
    }
    for (std::uint32_t shard = 0; shard < shard_count_; ++shard) {
      group.parts.try_emplace(shard);
    }
  } else if (group.terms.consistency == ReadConsistency::Monotonic) {
    for (const protocol::ShardPosition& each : group.terms.after) {
      if (each.shard.value < shard_count_) {
        group.parts.try_emplace(each.shard.value);
      }
    }
  }
  begin(std::move(group), now_us);
}

void ReplicaReads::begin(Group group, std::uint64_t now_us) {
  if (held_bytes_ + group.held_bytes() > kReadBytesMax) {
    return refuse(group, ErrorCode::Overloaded);
  }
  for (const protocol::ShardPosition& each : group.terms.after) {
    const auto part = group.parts.find(each.shard.value);
    if (part != group.parts.end()) {
      part->second.needed = max_id(part->second.needed, each.index);
    }
  }
  group.deadline_us = now_us + patience_ms(group.terms, group.request.deadline_ms) * 1000;
  group.open_count = group.parts.size();
  held_bytes_ += group.held_bytes();
  const std::uint64_t id = ++group_last_;
  Group& kept = groups_.emplace(id, std::move(group)).first->second;
  std::vector<std::uint32_t> shards;
  shards.reserve(kept.parts.size());
  for (const auto& [shard, part] : kept.parts) {
    shards.push_back(shard);
  }
  for (const std::uint32_t shard : shards) {
    begin_part(id, kept, ShardId{shard}, now_us);
  }
  if (kept.open_count > 0 && !by_leader(kept.terms.consistency)) {
    deadlines_.emplace(kept.deadline_us, id);
  }
  finish_if_done(id, now_us);
}

void ReplicaReads::begin_part(std::uint64_t id, Group& group, ShardId shard, std::uint64_t now_us) {
  Part& part = group.parts.at(shard.value);
  const ReadConsistency consistency = group.terms.consistency;
  part.answer.shard = shard;
  const bool led = environment_.leads(shard);
  if (by_leader(consistency) && !led) {
    part.answer.leader = environment_.leader_hint(shard);
    return close_part(group, part, ErrorCode::NotLeader);
  }
  if (by_leader(consistency) || (led && proves(group))) {
    part.asked = true;
    return environment_.confirm(
        shard,
        id,
        consistency == ReadConsistency::Linearizable ? ReadMode::Round : ReadMode::Lease);
  }
  const std::uint64_t age_us = ages_.age_us(shard, now_us).value_or(~std::uint64_t{0});
  if (consistency == ReadConsistency::Serializable && age_us > kAgeStaleUs) {
    ages_.want(shard, now_us - std::min(now_us, kAskAgainUs));
  }
  if (fresh(group, shard, part, now_us)) {
    return close_part(group, part, ErrorCode::None);
  }
  waits_[shard.value].insert(id);
  if (consistency == ReadConsistency::Bounded) {
    // A question that is under way serves if it leaves half of the time for its answer.
    const std::uint64_t half_us = std::uint64_t{group.terms.staleness_ms} * 500;
    ages_.want(shard, now_us - std::min(now_us, half_us));
  }
}

// Whether a leader has its row say that it leads, though no client asked for that: for the age.
bool ReplicaReads::proves(const Group& group) const {
  const ReadConsistency consistency = group.terms.consistency;
  return consistency == ReadConsistency::Bounded ||
         (consistency == ReadConsistency::Serializable && !ages_.times_leases());
}

// Whether what is applied here is enough.
bool ReplicaReads::fresh(const Group& group,
                         ShardId shard,
                         const Part& part,
                         std::uint64_t now_us) const {
  if (group.terms.consistency == ReadConsistency::Monotonic) {
    return environment_.applied(shard) >= part.needed;
  }
  if (group.terms.consistency == ReadConsistency::Bounded) {
    return ages_.age_ms(shard, now_us) <= group.terms.staleness_ms;
  }
  return true;
}

void ReplicaReads::close_part(Group& group, Part& part, ErrorCode error) {
  GCOORD_ASSERT(part.open);
  GCOORD_ASSERT(group.open_count > 0);
  part.open = false;
  part.answer.error = error;
  --group.open_count;
}

void ReplicaReads::on_confirmed(std::uint64_t id,
                                ShardId shard,
                                const Status& status,
                                NodeId leader_hint,
                                std::uint64_t now_us) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) {
    return;
  }
  Part& part = found->second.parts.at(shard.value);
  if (!part.open) {
    return;
  }
  part.answer.leader = leader_hint;
  part.confirmed_us = now_us;
  // A serializable read is answered whoever leads.
  const bool stands = found->second.terms.consistency == ReadConsistency::Serializable;
  part.asked = part.asked && (status.ok() || !stands);
  close_part(found->second, part, status.ok() || stands ? ErrorCode::None : ErrorCode::NotLeader);
  finish_if_done(id, now_us);
}

void ReplicaReads::look_again(ShardId shard, std::uint64_t now_us) {
  const auto waiting = waits_.find(shard.value);
  if (waiting == waits_.end()) {
    return;
  }
  const std::set<std::uint64_t> ids = waiting->second;
  for (const std::uint64_t id : ids) {
    Group& group = groups_.at(id);
    Part& part = group.parts.at(shard.value);
    if (part.open && !part.asked && fresh(group, shard, part, now_us)) {
      close_part(group, part, ErrorCode::None);
      finish_if_done(id, now_us);
    }
  }
}

void ReplicaReads::on_tick(std::uint64_t now_us) {
  rows_listed_ = 0;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_us) {
    give_up(deadlines_.begin()->second, now_us);
  }
  for (const auto& [shard, ids] : waits_) {
    const Group& group = groups_.at(*ids.rbegin());
    if (group.terms.consistency == ReadConsistency::Bounded) {
      const std::uint64_t quarter_us = std::uint64_t{group.terms.staleness_ms} * 250;
      ages_.want(ShardId{shard}, now_us - std::min(now_us, quarter_us));
    }
  }
}

// Its time is over: what is still open could not be had.
void ReplicaReads::give_up(std::uint64_t id, std::uint64_t now_us) {
  Group& group = groups_.at(id);
  const ReadConsistency consistency = group.terms.consistency;
  const ErrorCode error = consistency == ReadConsistency::Bounded ? ErrorCode::StalenessExceeded
                          : consistency == ReadConsistency::Serializable
                              ? ErrorCode::None
                              : ErrorCode::IndexNotReached;
  for (auto& [shard, part] : group.parts) {
    if (part.open) {
      part.asked = part.asked && error != ErrorCode::None;  // Nothing was confirmed.
      close_part(group, part, error);
    }
  }
  finish_if_done(id, now_us);
}

void ReplicaReads::stop_waiting(std::uint64_t id, const Group& group) {
  deadlines_.erase({group.deadline_us, id});
  for (const auto& [shard, part] : group.parts) {
    const auto waiting = waits_.find(shard);
    if (waiting != waits_.end()) {
      waiting->second.erase(id);
      if (waiting->second.empty()) {
        waits_.erase(waiting);
      }
    }
  }
}

void ReplicaReads::finish_if_done(std::uint64_t id, std::uint64_t now_us) {
  const auto found = groups_.find(id);
  GCOORD_ASSERT(found != groups_.end());
  if (found->second.open_count > 0) {
    return;
  }
  stop_waiting(id, found->second);
  held_bytes_ -= found->second.held_bytes();
  Group done = std::move(found->second);
  groups_.erase(found);
  finish(done, now_us);
}

// The index that the answer shows, as of now, and how old it may be.
protocol::ShardAnswer ReplicaReads::position(ShardId shard, std::uint64_t now_us) const {
  protocol::ShardAnswer answer;
  answer.shard = shard;
  answer.index = environment_.applied(shard);
  answer.age_ms = ages_.age_ms(shard, now_us);
  return answer;
}

// The last of the shards may have taken long: what was fresh before it need not be so now.
void ReplicaReads::settle(const Group& group, Part& part, std::uint64_t now_us) const {
  const std::uint64_t confirmed_ms = (now_us - part.confirmed_us + 999) / 1000;
  const ErrorCode error = part.answer.error;
  part.answer = position(part.answer.shard, now_us);
  part.answer.error = error;
  if (part.asked) {
    part.answer.age_ms = std::min(part.answer.age_ms, static_cast<std::uint32_t>(confirmed_ms));
  }
  const bool bounded = group.terms.consistency == ReadConsistency::Bounded;
  if (bounded && part.answer.age_ms > group.terms.staleness_ms) {
    part.answer.error = ErrorCode::StalenessExceeded;
  }
}

// A replica of the shard that a lock has left knows nothing of it; it says so for all that it was
// asked of that shard.
void ReplicaReads::refuse_moved(Group& group) const {
  if (group.request.kind != protocol::RequestKind::LockRead) {
    return;
  }
  const auto read = protocol::decode_lock_read(group.payload);
  GCOORD_ASSERT(read.ok());
  for (const auto& each : read.value().names) {
    const NameHash hash = hash_name(each.name);
    const ShardId shard = shard_of(hash, shard_count_);
    const auto residence = locks_.residence(shard, hash);
    if (residence.has_value() && residence->residence == locks::Residence::Away) {
      group.parts.at(shard.value).answer.error = ErrorCode::LockMoved;
    }
  }
}

void ReplicaReads::finish(Group& group, std::uint64_t now_us) {
  const locks::LockStill still(locks_);  // The indexes that are said are those of what is read.
  refuse_moved(group);
  for (auto& [shard, part] : group.parts) {
    if (part.answer.error == ErrorCode::None) {
      settle(group, part, now_us);
    }
  }
  if (group.request.kind == protocol::RequestKind::LockRead) {
    return finish_read(group);
  }
  const auto failed = std::ranges::find_if(
      group.parts, [](const auto& each) { return each.second.answer.error != ErrorCode::None; });
  if (failed != group.parts.end()) {
    return refuse(group, failed->second.answer.error);
  }
  finish_list(group, now_us);
}

protocol::NameAnswer ReplicaReads::answer_for(const Group& group,
                                              protocol::ReadQuestion question,
                                              const protocol::TokenCheck& name) const {
  const NameHash hash = hash_name(name.name);
  const ShardId shard = shard_of(hash, shard_count_);
  protocol::NameAnswer answer;
  answer.answered = group.parts.at(shard.value).answer.error == ErrorCode::None;
  if (!answer.answered) {
    return answer;
  }
  if (question == protocol::ReadQuestion::Verdict) {
    answer.verdict = plain_verdict(locks_, {shard, hash, name.token});
    return answer;
  }
  const auto lock = locks_.get(shard, hash);
  answer.present = lock.has_value();
  if (answer.present) {
    answer.row = environment_.describe(*lock);
  }
  return answer;
}

void ReplicaReads::finish_read(const Group& group) {
  const auto read = protocol::decode_lock_read(group.payload);
  GCOORD_ASSERT(read.ok());
  protocol::LockReadReply reply;
  reply.question = read.value().question;
  for (const auto& [shard, part] : group.parts) {
    reply.shards.push_back(part.answer);
  }
  std::size_t row_bytes = 0;
  for (const protocol::TokenCheck& name : read.value().names) {
    protocol::NameAnswer answer;
    if (row_bytes < kRowBytesMax) {
      answer = answer_for(group, reply.question, name);
      constexpr std::size_t kRowBytesMost = 4096;  // Names, note and holders of one row.
      row_bytes += answer.present ? kRowBytesMost : 0;
    }
    reply.names.push_back(std::move(answer));
  }
  environment_.answer(
      group.connection, protocol::reply_to(group.request), protocol::encode_lock_read_reply(reply));
}

void ReplicaReads::finish_list(const Group& group, std::uint64_t now_us) {
  const auto list = protocol::decode_read_list(group.payload);
  GCOORD_ASSERT(list.ok());
  const protocol::ListQuery& query = list.value().query;
  locks::LockRow row;
  GCOORD_ASSERT(decode_cursor(query.cursor, row));
  if (rows_listed_ >= kListRowsPerTick) {
    return refuse(group, ErrorCode::Overloaded);
  }
  const locks::LockRow last = locks_.row_last();
  row = min_id(row, last + 1);  // A cursor is the client's to choose.
  const locks::LockRow stop = min_id(last + 1, max_id(row, row + kListRowsLookedAt));
  rows_listed_ += stop - row;
  protocol::LockReadPage page;
  std::set<std::uint32_t> shards;
  std::size_t page_bytes = 0;
  for (; row < stop && page.page.rows.size() < query.limit && page_bytes < kRowBytesMax; ++row) {
    const auto lock = locks_.held(row, [](ShardId) { return true; });
    if (lock.has_value() && lock->name.starts_with(query.prefix) &&
        environment_.lists(group.connection, lock->name)) {
      page.page.rows.push_back(environment_.describe(*lock));
      page_bytes += protocol::encoded_bytes(page.page.rows.back());
      shards.insert(lock->shard.value);
    }
  }
  for (const std::uint32_t shard : shards) {
    page.shards.push_back(position(ShardId{shard}, now_us));
  }
  page.page.next_cursor = encode_cursor(row <= last ? row : locks::LockRow{});
  environment_.answer(
      group.connection, protocol::reply_to(group.request), protocol::encode_read_page(page));
}

}  // namespace gcoord::server
