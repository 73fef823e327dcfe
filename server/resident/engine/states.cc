#include "server/resident/engine/states.h"

#include "common/limits.h"

#include <algorithm>
#include <cstring>

namespace gcoord::server {
namespace {

struct StateHeader {
  std::byte kind{};
  std::uint8_t stamped = 0;
  std::uint8_t reserved[2]{};
  std::uint32_t shard = 0;
  std::uint64_t index = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t offset = 0;
};

static_assert(sizeof(StateHeader) == 32);

constexpr std::size_t kChunkBytes = kPeerMessageBytesMax - sizeof(StateHeader);

// Wants that one message round asks for: bounds what a node that was away asks at once.
constexpr std::size_t kAsksMax = 256;

StateHeader header_of(std::span<const std::byte> message) {
  StateHeader header;
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

}  // namespace

ResidentStates::ResidentStates(std::vector<NodeId> peers,
                               ResidentRows& rows,
                               StateMachine& service,
                               Send send)
    : peers_(std::move(peers)), rows_(rows), service_(service), send_(std::move(send)) {}

bool ResidentStates::is_message(std::span<const std::byte> message) {
  if (message.size() < sizeof(StateHeader)) {
    return false;
  }
  const bool asks = message.front() == kStateAskKind && message[1] == std::byte{0};
  return asks || message.front() == kStateKind;
}

Status ResidentStates::on_message(NodeId from, std::span<const std::byte> message) {
  if (message.front() == kStateKind) {
    return take_chunk(from, message);
  }
  answer(from, message);
  return {};
}

void ResidentStates::refresh(std::uint64_t now_ms) {
  if (now_ms < next_ask_ms_ || peers_.empty()) {
    return;
  }
  next_ask_ms_ = now_ms + kAskAgainMs;
  const NodeId peer = peers_[round_++ % peers_.size()];
  std::vector<ResidentRows::Want> wants = rows_.wants();
  wants.resize(std::min(wants.size(), kAsksMax));
  for (const ResidentRows::Want& want : wants) {
    StateHeader header;
    header.kind = kStateAskKind;
    header.shard = want.shard.value;
    header.index = want.from.value;
    send_(peer, std::as_bytes(std::span{&header, 1}));
  }
}

void ResidentStates::answer(NodeId to, std::span<const std::byte> message) {
  StateHeader header = header_of(message);
  if (header.shard >= rows_.shard_count()) {
    ++dropped_;
    return;
  }
  const ShardId shard{header.shard};
  const LogIndex at = rows_.whole_at(shard);
  if (at.value == 0 || at.value < header.index) {
    return;
  }
  std::vector<std::byte> state;
  service_.serialize(shard, state);
  header.kind = kStateKind;
  header.stamped = rows_.has_stamps(shard) ? 1 : 0;
  header.index = at.value;
  header.bytes_total = state.size();
  std::vector<std::byte> chunk;
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(kChunkBytes, state.size() - offset);
    header.offset = offset;
    chunk.resize(sizeof header + count);
    std::memcpy(chunk.data(), &header, sizeof header);
    std::copy_n(
        state.begin() + static_cast<std::ptrdiff_t>(offset), count, chunk.begin() + sizeof header);
    send_(to, chunk);
    offset += count;
  } while (offset < state.size());
}

Status ResidentStates::take_chunk(NodeId from, std::span<const std::byte> message) {
  const StateHeader header = header_of(message);
  const std::span<const std::byte> chunk = message.subspan(sizeof header);
  const bool sane = header.shard < rows_.shard_count() && header.bytes_total <= kStateBytesMax &&
                    header.offset <= header.bytes_total &&
                    chunk.size() <= header.bytes_total - header.offset &&
                    std::find(peers_.begin(), peers_.end(), from) != peers_.end();
  if (!sane || !rows_.is_wanted(ShardId{header.shard})) {
    ++dropped_;
    return {};
  }
  Arriving& arriving = arriving_[{from.value, header.shard}];
  if (header.offset == 0) {
    arriving = Arriving{LogIndex{header.index}, header.bytes_total, {}};
  }
  const bool follows = arriving.index.value == header.index &&
                       arriving.bytes_total == header.bytes_total &&
                       arriving.bytes.size() == header.offset;
  if (!follows) {
    ++dropped_;
    return {};
  }
  arriving.bytes.insert(arriving.bytes.end(), chunk.begin(), chunk.end());
  if (arriving.bytes.size() < arriving.bytes_total) {
    return {};
  }
  const Arriving whole = std::move(arriving);
  std::erase_if(arriving_,
                [&header](const auto& each) { return each.first.second == header.shard; });
  GCOORD_TRY(const bool taken,
             rows_.install({.shard = ShardId{header.shard},
                            .index = whole.index,
                            .has_stamps = header.stamped != 0,
                            .bytes = whole.bytes}));
  (taken ? installed_ : dropped_) += 1;
  return {};
}

}  // namespace gcoord::server
