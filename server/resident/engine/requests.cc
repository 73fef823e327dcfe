#include "server/resident/engine/requests.h"

#include "common/assert.h"
#include "locks/commands/entry_record.h"
#include "locks/state/demand.h"
#include "server/device_turn/store.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// An acquire needs rows of all kinds; what ends something needs few or none.
std::uint32_t weight_of(const locks::LockCommand& command) {
  const locks::LockDemand demand = locks::demand_of(command);
  const std::uint32_t rows = std::max({demand.locks, demand.sessions, demand.requests});
  return std::max({1u, rows, (demand.name_blocks + kRoomNameBlocks - 1) / kRoomNameBlocks});
}

static_assert(kCommandBytesMax <= locks::kEntryRecordBytesMax);

bool is_record(const ProposedCommand& proposed) {
  const auto header = decode_record_header(proposed.bytes);
  return proposed.command == nullptr && header && is_system_kind(header->kind);
}

locks::LockCommand command_of(const ProposedCommand& proposed) {
  if (proposed.command != nullptr) {
    return *proposed.command;
  }
  const auto decoded = locks::decode(record_body(proposed.bytes));
  GCOORD_ASSERT(decoded.ok());  // The service encoded it.
  return decoded.value();
}

// A record takes no rows, but as many entries as a long name.
std::uint32_t record_weight(std::size_t bytes) {
  constexpr std::size_t kBytesOfOne = 512;
  return 1 + static_cast<std::uint32_t>(bytes / kBytesOfOne);
}

// Room that is kept for what is under way on three nodes, and for releases besides.
constexpr std::uint32_t kRoomKept = kTurnNodes * kLaneWeightMax;

}  // namespace

ResidentRequests::ResidentRequests(ResidentNode& node)
    : node_(node), lanes_(node.options().shape.stripe_count) {
  for (Lane& lane : lanes_) {
    lane.room = std::min({node.options().sizes.locks,
                          node.options().sizes.sessions,
                          node.options().sizes.requests,
                          node.options().sizes.name_blocks / kRoomNameBlocks});
  }
}

std::uint32_t ResidentRequests::lane_of(ShardId shard) const {
  return stripe_of(node_.options().shape, shard);
}

bool ResidentRequests::has_place(const locks::LockCommand& command) {
  return locks::is_entry_command(command) && weight_of(command) <= kLaneWeightMax;
}

bool ResidentRequests::may_take(ShardId shard, const locks::LockCommand& command) const {
  const Lane& lane = lanes_[lane_of(shard)];
  const locks::LockDemand demand = locks::demand_of(command);
  const std::uint32_t weight = weight_of(command);
  const bool takes = demand.locks + demand.sessions + demand.name_blocks != 0;
  // What ends something takes at most a request row: half of what is kept is for that.
  const std::uint32_t kept = takes ? 2 * kRoomKept : kRoomKept;
  const bool needs_nothing = !takes && demand.requests == 0;
  const bool has_room = lane.room >= lane.elsewhere + kept + weight;
  return lane.weight + weight <= kLaneWeightMax && (needs_nothing || has_room);
}

void ResidentRequests::enqueue(ShardId shard,
                               const std::vector<locks::LockEntry>& entries,
                               Asked asked) {
  Lane& lane = lanes_[lane_of(shard)];
  std::vector<TurnRequest> requests(entries.size());
  for (std::size_t k = 0; k < entries.size(); ++k) {
    requests[k].shard = shard;
    requests[k].head = entries[k].head;
    requests[k].tag = ++tag_last_;
    std::copy(std::begin(entries[k].word), std::end(entries[k].word), std::begin(requests[k].word));
  }
  lane.weight += asked.weight;
  lane.queue.push_back(std::move(requests));
  tags_[shard.value].insert(tag_last_);
  asked_.emplace(tag_last_, std::move(asked));
}

void ResidentRequests::command(ShardId shard,
                               const locks::LockCommand& command,
                               std::uint64_t cookie) {
  enqueue(shard,
          locks::entries_of(command),
          Asked{AskedKind::Command, shard, weight_of(command), {cookie}});
}

bool ResidentRequests::take(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) {
  if (is_record(proposed)) {
    const bool fits = may_take_record(shard, proposed.bytes.size());
    if (fits) {
      record(shard, proposed.bytes, cookie);
    }
    return fits;
  }
  const locks::LockCommand asked = command_of(proposed);
  const bool fits = may_take(shard, asked);
  if (fits) {
    command(shard, asked, cookie);
  }
  return fits;
}

bool ResidentRequests::may_take_record(ShardId shard, std::size_t bytes) const {
  return lanes_[lane_of(shard)].weight + record_weight(bytes) <= kLaneWeightMax;
}

void ResidentRequests::record(ShardId shard,
                              std::span<const std::byte> record,
                              std::uint64_t cookie) {
  enqueue(shard,
          locks::record_entries(record),
          Asked{AskedKind::Command, shard, record_weight(record.size()), {cookie}});
}

void ResidentRequests::barrier(ShardId shard, std::uint64_t cookie) {
  const auto open = open_barrier_.find(shard.value);
  if (open != open_barrier_.end()) {
    asked_.at(open->second).cookies.push_back(cookie);
    return;
  }
  enqueue(shard, {locks::barrier_entry()}, Asked{AskedKind::Barrier, shard, 1, {cookie}});
  open_barrier_.emplace(shard.value, tag_last_);
}

std::uint64_t ResidentRequests::probe(std::uint32_t lane) {
  TurnRequest request;
  request.shard = ShardId{~0u};
  request.tag = ++tag_last_;
  lanes_[lane].queue.push_back({request});
  return request.tag;
}

void ResidentRequests::transfer(ShardId shard, NodeId to) {
  TurnRequest request;
  request.shard = shard;
  request.tag = kTransferTag;
  request.word[0] = node_.options().names.number(to).value;
  lanes_[lane_of(shard)].queue.push_back({request});
}

void ResidentRequests::stored(ShardId shard, const consensus::StorageAck& ack) {
  const NodeId vote = node_.options().names.number(ack.vote);
  lanes_[lane_of(shard)].stored.emplace_back(shard,
                                             consensus::StorageAck{ack.term, vote, ack.present});
}

// Before requests, which only make more of them.
std::size_t ResidentRequests::push_stored(std::uint32_t number) {
  auto& stored = lanes_[number].stored;
  std::size_t pushed = 0;
  while (!stored.empty()) {
    TurnRequest request = no_stored();
    const std::size_t count = std::min<std::size_t>(stored.size(), kStoredAcks);
    for (std::uint32_t k = 0; k < count; ++k) {
      put_stored(request, k, stored[k].first, stored[k].second);
    }
    if (!node_.push(number, &request, 1)) {
      break;
    }
    stored.erase(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(count));
    pushed += count;
  }
  return pushed;
}

std::size_t ResidentRequests::push() {
  open_barrier_.clear();
  std::size_t pushed = 0;
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) {
    pushed += push_stored(number);
    auto& queue = lanes_[number].queue;
    while (!queue.empty() &&
           node_.push(
               number, queue.front().data(), static_cast<std::uint32_t>(queue.front().size()))) {
      queue.pop_front();
      ++pushed;
    }
  }
  return pushed;
}

void ResidentRequests::forget(std::uint64_t tag, const Asked& asked) {
  lanes_[lane_of(asked.shard)].weight -= asked.weight;
  const auto tags = tags_.find(asked.shard.value);
  tags->second.erase(tag);
  if (tags->second.empty()) {
    tags_.erase(tags);
  }
}

std::optional<Asked> ResidentRequests::take(std::uint64_t tag) {
  const auto found = asked_.find(tag);
  if (found == asked_.end()) {
    return std::nullopt;
  }
  Asked asked = std::move(found->second);
  asked_.erase(found);
  forget(tag, asked);
  return asked;
}

std::vector<Asked> ResidentRequests::take_shard(ShardId shard) {
  std::vector<Asked> taken;
  const auto tags = tags_.find(shard.value);
  if (tags == tags_.end()) {
    return taken;
  }
  const std::vector<std::uint64_t> each(tags->second.begin(), tags->second.end());
  for (const std::uint64_t tag : each) {
    taken.push_back(std::move(*take(tag)));
  }
  open_barrier_.erase(shard.value);
  return taken;
}

}  // namespace gcoord::server
