#include "server/resident/engine/requests.h"

#include "common/assert.h"
#include "locks/commands/entry_record.h"
#include "locks/commands/entry_writer.h"
#include "server/device_turn/store.h"
#include "server/interfaces/log_limits.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

// An acquire needs rows of all kinds; what ends something needs few or none.
std::uint32_t weight_of(const locks::LockDemand& demand) {
  const std::uint32_t rows = std::max({demand.locks, demand.sessions, demand.requests});
  return std::max({1u, rows, (demand.name_blocks + kRoomNameBlocks - 1) / kRoomNameBlocks});
}

static_assert(kCommandBytesMax <= locks::kEntryRecordBytesMax);

bool is_record(const ProposedCommand& proposed) {
  const auto header = decode_record_header(proposed.bytes);
  return proposed.command == nullptr && header && is_system_kind(header->kind);
}

bool is_publication(const ProposedCommand& proposed) {
  const auto header = decode_record_header(proposed.bytes);
  return header && header->kind == RecordKind::Publication;
}

// Of bytes that say so in their header.
EntryStamp stamp_in(std::span<const std::byte> record) {
  const auto header = decode_record_header(record);
  return header ? EntryStamp{header->origin, header->time_ms} : EntryStamp{};
}

// A record takes no rows, but as many entries as a long name.
std::uint32_t record_weight(std::size_t bytes) {
  constexpr std::size_t kBytesOfOne = 512;
  return 1 + static_cast<std::uint32_t>(bytes / kBytesOfOne);
}

TurnRequest request_of(ShardId shard, const locks::LockEntry& entry, std::uint64_t tag) {
  TurnRequest request{.shard = shard, .head = entry.head, .tag = tag};
  std::copy(std::begin(entry.word), std::end(entry.word), std::begin(request.word));
  return request;
}

}  // namespace

ResidentRequests::ResidentRequests(ResidentNode& node)
    : node_(node),
      stripe_rows_(stripe_rows(node.options().shape)),
      room_max_(std::min({node.options().sizes.locks,
                          node.options().sizes.sessions,
                          node.options().sizes.requests,
                          node.options().sizes.name_blocks / kRoomNameBlocks})),
      lanes_(node.options().shape.stripe_count),
      asked_(node.options().shape.shard_count),
      reads_(node.options().shape.shard_count) {
  for (Lane& lane : lanes_) {
    lane.room = room_max_;
  }
}

ResidentRequests::Need ResidentRequests::need_of(const locks::LockCommand& command) {
  const locks::LockDemand demand = locks::demand_of(command);
  const bool brings = command.kind == locks::LockCommandKind::MoveIn;
  return {demand, brings ? kMoveInWeight : weight_of(demand), brings};
}

bool ResidentRequests::has_place(const locks::LockCommand& command) {
  const Need need = need_of(command);
  return locks::is_entry_command(command) && (need.brings || need.weight <= kLaneWeightMax);
}

bool ResidentRequests::may_take(ShardId shard, const locks::LockCommand& command) const {
  return has_room(shard, need_of(command));
}

bool ResidentRequests::has_room(ShardId shard, const Need& need) const {
  const Lane& lane = lanes_[lane_of(shard)];
  const locks::LockDemand& demand = need.demand;
  const bool takes = demand.locks + demand.sessions + demand.name_blocks != 0;
  // Room is kept for what is under way on all nodes, and for releases besides. What ends something
  // takes at most a request row: a part of what is kept is for that.
  const std::uint32_t kept = room_kept(node_.options().shape.voters, takes);
  const bool needs_nothing = !takes && demand.requests == 0;
  const bool has_room = lane.room >= lane.elsewhere + kept + need.weight;
  const bool fits = need.brings ? !lane.brings : lane.weight + need.weight <= kLaneWeightMax;
  return asked_.takes_command() && fits && (needs_nothing || has_room);
}

// --- Into the queues

// What a read asks for stands in no log, so its tag says neither who asked nor when.
std::uint64_t ResidentRequests::add(const Asked& asked,
                                    std::uint32_t before,
                                    const EntryStamp& stamp) {
  const bool reads = asked.kind == AskedKind::Read;
  Lane& lane = lanes_[lane_of(asked.shard)];
  if (asked.weight > kLaneWeightMax) {
    lane.brings = true;
  } else {
    lane.weight += asked.weight;
  }
  lane.reads += reads ? 1 : 0;
  return asked_.add(asked, before, stamps_ && !reads ? stamp_bits(stamp) : 0);
}

// The device checks commands against the pass in front of them, which changes with whoever asks and
// what for; most of the time it does not.
void ResidentRequests::show_pass(std::uint32_t number, const Authority& authority) {
  Lane& lane = lanes_[number];
  if (lane.authority != authority) {
    lane.authority = authority;
    lane.queue.push() = pass_request({authority.principal, authority.withheld});
  }
}

// As somebody made them beforehand, or as they are made now.
void ResidentRequests::enqueue(const Asked& asked, const ProposedCommand& proposed) {
  show_pass(lane_of(asked.shard), proposed.authority);
  if (!proposed.entries.empty()) {
    return enqueue_entries(asked, proposed.entries, proposed.stamp);
  }
  const locks::LockCommand& command = *proposed.command;
  const std::uint32_t before = locks::entry_count_of(command) - 1;
  const std::uint64_t last = add(asked, before, proposed.stamp);
  std::uint64_t tag = last - before;
  RequestRing& queue = lanes_[lane_of(asked.shard)].queue;
  locks::for_each_entry(command, [&](const locks::LockEntry& entry) {
    queue.push() = request_of(asked.shard, entry, tag);
    if (tag++ == last) {
      asked_.set_entry(last, entry);
    }
  });
}

// Pieces first; at once into the lane where nothing waits before them and there is room.
void ResidentRequests::enqueue_entries(const Asked& asked,
                                       std::span<const locks::LockEntry> entries,
                                       const EntryStamp& stamp) {
  const auto before = static_cast<std::uint32_t>(entries.size() - 1);
  const std::uint64_t last = add(asked, before, stamp);
  asked_.set_entry(last, entries.back());
  std::uint64_t tag = last - before;
  const std::uint32_t number = lane_of(asked.shard);
  RequestRing& queue = lanes_[number].queue;
  if (queue.empty() && node_.lane(number).push_entries(asked.shard, tag, entries)) {
    return;
  }
  for (const locks::LockEntry& entry : entries) {
    queue.push() = request_of(asked.shard, entry, tag++);
  }
}

void ResidentRequests::command(ShardId shard,
                               const locks::LockCommand& command,
                               std::uint64_t cookie) {
  enqueue({AskedKind::Command, shard, need_of(command).weight, cookie},
          {std::span<const std::byte>{}, &command});
}

bool ResidentRequests::take_command(ShardId shard,
                                    const ProposedCommand& proposed,
                                    std::uint64_t cookie) {
  const Need need = need_of(*proposed.command);
  const bool fits = has_room(shard, need);
  if (fits) {
    enqueue({AskedKind::Command, shard, need.weight, cookie}, proposed);
  }
  return fits;
}

bool ResidentRequests::take(ShardId shard, const ProposedCommand& proposed, std::uint64_t cookie) {
  if (proposed.command != nullptr) {
    return take_command(shard, proposed, cookie);
  }
  if (is_record(proposed)) {
    const bool fits =
        (stamps_ || !is_publication(proposed)) && may_take_record(shard, proposed.bytes.size());
    if (fits) {
      record(shard, proposed.bytes, cookie);
    }
    return fits;
  }
  const auto decoded = locks::decode(record_body(proposed.bytes));
  GCOORD_ASSERT(decoded.ok());  // The service encoded it.
  ProposedCommand known{proposed.bytes, &decoded.value()};
  known.authority = proposed.authority;
  known.stamp = stamp_in(proposed.bytes);
  return take_command(shard, known, cookie);
}

bool ResidentRequests::may_take_record(ShardId shard, std::size_t bytes) const {
  return asked_.takes_command() &&
         lanes_[lane_of(shard)].weight + record_weight(bytes) <= kLaneWeightMax;
}

void ResidentRequests::record(ShardId shard,
                              std::span<const std::byte> record,
                              std::uint64_t cookie) {
  const std::vector<locks::LockEntry> entries = locks::record_entries(record);
  enqueue_entries(
      {AskedKind::Command, shard, record_weight(record.size()), cookie}, entries, stamp_in(record));
}

// Whether another one's answer is its own.
bool ResidentRequests::share_read(ShardId shard, std::uint64_t cookie, consensus::ReadProof proof) {
  const std::uint64_t shared = reads_.share(shard, proof);
  if (shared != 0) {
    asked_.ride(shared, cookie);
  }
  return shared != 0;
}

bool ResidentRequests::read(ShardId shard, std::uint64_t cookie, consensus::ReadProof proof) {
  if (share_read(shard, cookie, proof)) {
    return true;
  }
  const bool fits = asked_.takes_read();
  if (fits) {
    add_read(shard, cookie, proof);
  }
  return fits;
}

void ResidentRequests::add_read(ShardId shard, std::uint64_t cookie, consensus::ReadProof proof) {
  reads_.add({shard, add({AskedKind::Read, shard, 0, cookie}, 0, {}), proof});
}

bool ResidentRequests::read_by_round(std::uint64_t tag) {
  if (kind_of(tag) != AskedKind::Read) {
    return false;
  }
  Asked asked = *take(tag);
  do {
    if (!share_read(asked.shard, asked.cookie, consensus::ReadProof::Round)) {
      add_read(asked.shard, asked.cookie, consensus::ReadProof::Round);  // It had a place before.
    }
  } while (next_rider(asked));
  return true;
}

std::uint64_t ResidentRequests::probe(std::uint32_t lane) {
  const std::uint64_t tag = asked_.skip();
  lanes_[lane].queue.push() = request_of(ShardId{~0u}, {}, tag);
  return tag;
}

void ResidentRequests::transfer(ShardId shard, NodeId to) {
  locks::LockEntry entry;
  entry.word[0] = node_.options().names.number(to).value;
  lanes_[lane_of(shard)].queue.push() = request_of(shard, entry, kTransferTag);
}

void ResidentRequests::stored(ShardId shard, const consensus::StorageAck& ack) {
  const NodeId vote = node_.options().names.number(ack.vote);
  lanes_[lane_of(shard)].stored.push_back({shard, {ack.term, vote, ack.present}});
}

// --- To the device

// Before requests, which only make more of them.
std::size_t ResidentRequests::push_stored(std::uint32_t number) {
  std::vector<Stored>& stored = lanes_[number].stored;
  std::size_t pushed = 0;
  while (pushed < stored.size()) {
    TurnRequest request = no_stored();
    const std::size_t count = std::min<std::size_t>(stored.size() - pushed, kStoredAcks);
    for (std::uint32_t k = 0; k < count; ++k) {
      put_stored(request, k, stored[pushed + k].shard, stored[pushed + k].ack);
    }
    if (!node_.push(number, &request, 1)) {
      break;
    }
    pushed += count;
  }
  stored.erase(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(pushed));
  return pushed;
}

std::size_t ResidentRequests::push_requests(std::uint32_t number) {
  RequestRing& queue = lanes_[number].queue;
  const auto wanted = static_cast<std::uint32_t>(queue.size());
  const std::uint32_t count = queue.whole(node_.room(number, wanted));
  for (std::uint32_t left = count; left != 0;) {
    const auto run = queue.front(left);
    const auto size = static_cast<std::uint32_t>(run.size());
    const bool fits = node_.push(number, run.data(), size);
    GCOORD_ASSERT(fits);
    queue.pop(size);
    left -= size;
  }
  return count;
}

// From now on nobody shares them any more.
void ResidentRequests::queue_reads(consensus::ReadProof proof) {
  while (const auto read = reads_.take()) {
    const bool round = proof == consensus::ReadProof::Round;
    lanes_[lane_of(read->shard)].queue.push() =
        read_request(read->shard, read->tag, round ? proof : read->proof);
  }
}

std::size_t ResidentRequests::push(consensus::ReadProof proof) {
  queue_reads(proof);
  std::size_t pushed = 0;
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) {
    const Lane& lane = lanes_[number];
    pushed += lane.stored.empty() ? 0 : push_stored(number);
    pushed += lane.queue.empty() ? 0 : push_requests(number);
  }
  return pushed;
}

// --- Their ends

std::optional<Asked> ResidentRequests::take(std::uint64_t tag) {
  const std::optional<Asked> asked = asked_.take(tag);
  if (asked.has_value()) {
    Lane& lane = lanes_[lane_of(asked->shard)];
    if (asked->weight > kLaneWeightMax) {
      lane.brings = false;
    } else {
      lane.weight -= asked->weight;
    }
    if (asked->kind == AskedKind::Read) {
      --lane.reads;
      reads_.on_end(asked->shard, tag);
    }
  }
  return asked;
}

std::optional<Asked> ResidentRequests::take_first(ShardId shard, std::uint64_t last) {
  const std::uint64_t first = asked_.first_of(shard);
  return first != 0 && asked_.order_of(first) <= last ? take(first) : std::nullopt;
}

}  // namespace gcoord::server
