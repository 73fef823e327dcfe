#include "bench/floods/flood_requests.h"

#include "common/name_hash.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gcoord::bench {

namespace {

constexpr std::size_t kRequestsOfFrame = 64;

// Locks of one connection: few enough to be made quickly, and in as many shards.
constexpr std::size_t kNames = 1024;

constexpr std::uint32_t kRowsOfPage = 1000;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

}  // namespace

const char* flood_kind_name(FloodKind kind) {
  switch (kind) {
    case FloodKind::Lists:
      return "lists";
    case FloodKind::Gets:
      return "gets";
    default:
      return "acquires";
  }
}

FloodRequests::FloodRequests(FloodKind kind, FloodSubject subject)
    : kind_(kind), subject_(std::move(subject)) {
  std::set<std::uint32_t> taken;
  const std::size_t wanted = std::min<std::size_t>(kNames, subject_.shards / 2 + 1);
  for (std::uint32_t n = 0; kind == FloodKind::Acquires && names_.size() < wanted; ++n) {
    const std::string text = subject_.names + "/" + std::to_string(n);
    const std::uint32_t shard = shard_of(hash_name(text), subject_.shards).value;
    if (taken.insert(shard).second) {
      names_.push_back({text, shard, 0});
    }
  }
}

void FloodRequests::append_frame(protocol::FrameBuilder& builder, std::vector<std::byte>& out) {
  for (std::size_t k = 0; k < kRequestsOfFrame; ++k, ++count_) {
    switch (kind_) {
      case FloodKind::Lists:
        add_list(builder);
        break;
      case FloodKind::Gets:
        add_get(builder);
        break;
      default:
        add_acquire(builder);
        break;
    }
  }
  builder.finish(out);
}

void FloodRequests::add_list(protocol::FrameBuilder& builder) {
  protocol::RequestSlot slot;
  slot.request_id = count_;
  const protocol::ShardRange range{ShardId{0}, subject_.shards};
  switch (count_ % 4) {
    case 0:
      slot.kind = protocol::RequestKind::NodeStatus;
      return builder.add(slot, {});
    case 1:
      slot.kind = protocol::RequestKind::ShardList;
      return builder.add(slot, protocol::encode_shard_range(range));
    case 2:
      slot.kind = protocol::RequestKind::LeaderMap;
      return builder.add(slot, protocol::encode_shard_range(range));
    default:
      slot.kind = protocol::RequestKind::LockList;
      return builder.add(slot, protocol::encode_list_query({.limit = kRowsOfPage}));
  }
}

void FloodRequests::add_get(protocol::FrameBuilder& builder) {
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::LockGet;
  slot.request_id = count_;
  slot.shard = shard_of(hash_name(subject_.lock), subject_.shards).value;
  slot.set(protocol::RequestFlag::Waiters);
  slot.set(protocol::RequestFlag::Details);
  builder.add(slot, bytes_of(subject_.lock));
}

void FloodRequests::add_acquire(protocol::FrameBuilder& builder) {
  Name& name = names_[count_ % names_.size()];
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::LockAcquire;
  slot.request_id = count_;
  slot.shard = name.shard;
  slot.session = subject_.session;
  slot.sequence = ++name.sequence;
  slot.acked_below = name.sequence;
  slot.ttl_ms = subject_.ttl_ms;
  builder.add(slot, bytes_of(name.text));
}

}  // namespace gcoord::bench
