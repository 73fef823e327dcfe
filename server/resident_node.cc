#include "server/resident_node.h"

#include "server/range_arena.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace gcoord::server {
namespace {

using netcore::Band;
using netcore::GpuChannel;
using netcore::GpuChannelOptions;
using netcore::MemoryKind;

constexpr std::uint32_t kEpoch = 1;

netcore::LaneLayoutOptions layout_of(Band band, std::uint32_t lanes, std::uint32_t ring_slots) {
  netcore::LaneLayoutOptions layout;
  layout.band[static_cast<std::size_t>(band)] = {lanes, ring_slots, 0};
  return layout;
}

void add(StripeCounts& sum, const StripeCounts& one) {
  sum.turns += one.turns;
  sum.steps += one.steps;
  sum.stalled += one.stalled;
  sum.dropped += one.dropped;
  sum.unsent += one.unsent;
  sum.lost += one.lost;
  sum.applied += one.applied;
  sum.requests += one.requests;
  sum.replies += one.replies;
  sum.unreplied += one.unreplied;
  sum.led += one.led;
}

template <typename T>
T from_words(const std::uint32_t* words) {
  static_assert(sizeof(T) == netcore::kSlotBytes);
  T value;
  std::memcpy(static_cast<void*>(&value), words, sizeof value);
  return value;
}

}  // namespace

Result<std::unique_ptr<ResidentNode>> ResidentNode::make(
    const ResidentNodeOptions& options, std::unique_ptr<netcore::MemorySource> memory) {
  if (!is_turn_ring<locks::LockEntry>(options.shape, options.ring_slots)) {
    return Status{StatusCode::InvalidArgument, "the lanes between nodes are too short"};
  }
  std::unique_ptr<ResidentNode> node{new ResidentNode(options, std::move(memory))};
  GCOORD_TRY_STATUS(node->carve());
  GCOORD_TRY_STATUS(node->open_clients());
  return node;
}

ResidentNode::~ResidentNode() = default;

Status ResidentNode::carve() {
  const TurnShape& shape = options_.shape;
  const std::size_t bytes =
      turn_node_bytes<LockTurnService>(shape) + lock_turn_bytes(shape, options_.sizes);
  GCOORD_TRY(const netcore::MemoryRange range, registry_.allocate(MemoryKind::Private, bytes));
  RangeArena arena(range);
  view_ = carve_turn_node<LockTurnService>(arena, shape);
  view_.self = options_.self;
  CarvedLocks carved =
      carve_lock_turn(arena, shape, options_.sizes, options_.index_seed, &view_.control->abort);
  view_.service = carved.service;
  return registry_.source().write(reinterpret_cast<std::byte*>(carved.service.stripes),
                                  std::as_bytes(std::span{carved.stripes}));
}

Status ResidentNode::open_clients() {
  const std::uint32_t stripes = options_.shape.stripe_count;
  GpuChannelOptions options;
  options.layout = layout_of(Band::Rpc, stripes, options_.client_slots);
  options.epoch = kEpoch;
  options.region_kind = MemoryKind::Pinned;
  GCOORD_TRY(client_device_, GpuChannel::create(registry_, options));
  options.private_kind = MemoryKind::Pinned;
  GCOORD_TRY(client_host_, GpuChannel::create(registry_, options));
  client_device_->attach(client_host_->region(), false);
  client_host_->attach(client_device_->region(), false);
  view_.client = client_device_->device();
  const netcore::GpuChannelDevice end = client_host_->device();
  lanes_.reserve(stripes);
  for (std::uint32_t lane = 0; lane < stripes; ++lane) {
    lanes_.push_back({netcore::open_sender(end, Band::Rpc, lane),
                      netcore::open_receiver(end, Band::Rpc, lane),
                      false,
                      {}});
  }
  return {};
}

netcore::LaneLayoutOptions ResidentNode::channel_layout() const {
  return layout_of(Band::Consensus, options_.shape.stripe_count, options_.ring_slots);
}

void ResidentNode::connect(NodeId peer, std::unique_ptr<netcore::GpuChannel> channel) {
  GCOORD_ASSERT(peer != options_.self && peer.value >= 1 && peer.value <= kTurnNodes);
  const std::uint32_t place = peer_place(options_.self, peer);
  view_.peer[place] = peer;
  view_.channel[place] = channel->device();
  channel_[place] = std::move(channel);
}

bool ResidentNode::connected() const {
  return std::all_of(
      std::begin(channel_), std::end(channel_), [](const auto& each) { return each != nullptr; });
}

bool ResidentNode::push(std::uint32_t lane, const TurnRequest* requests, std::uint32_t count) {
  netcore::LaneSender& to = lanes_[lane].to;
  if (to.credit_up_to(count) < count) {
    return false;
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    const netcore::Reservation place = to.reserve(1);
    GCOORD_ASSERT(place.slot_count == 1);
    std::uint32_t words[netcore::kSlotWords];
    std::memcpy(words, &requests[k], sizeof words);
    to.publish(place, [&words](std::uint32_t, std::uint32_t word) { return words[word]; });
  }
  return true;
}

std::optional<ToldSlot> ResidentNode::pull(std::uint32_t number) {
  Lane& lane = lanes_[number];
  for (;;) {
    const netcore::SlotTile tile = lane.from.poll(1);
    if (tile.slot_count == 0) {
      return std::nullopt;
    }
    std::uint32_t words[netcore::kSlotWords];
    tile.for_each_word(
        [&words](std::uint32_t, std::uint32_t word, std::uint32_t value) { words[word] = value; });
    lane.from.release(tile);
    if (lane.half) {
      lane.half = false;
      return ToldSlot{lane.reply, from_words<locks::LockEntry>(words)};
    }
    lane.reply = from_words<TurnReply>(words);
    const TurnVerdict verdict = lane.reply.verdict;
    lane.half = verdict == TurnVerdict::Committed || verdict == TurnVerdict::Told;
    if (!lane.half && verdict != TurnVerdict::None) {
      return ToldSlot{lane.reply, {}};
    }
  }
}

Status ResidentNode::abort() {
  return registry_.source().store_word(&view_.control->abort, 1);
}

Result<std::uint64_t> ResidentNode::abort_word() {
  std::uint64_t word = 0;
  GCOORD_TRY_STATUS(
      registry_.source().read(std::as_writable_bytes(std::span{&word, 1}),
                              reinterpret_cast<const std::byte*>(&view_.control->abort)));
  return word;
}

netcore::DropReason ResidentNode::fault(NodeId peer) const {
  const auto& channel = channel_[peer_place(options_.self, peer)];
  return channel == nullptr ? netcore::DropReason::None : channel->fault();
}

std::size_t ResidentNode::device_bytes() const {
  return registry_.bytes_of(MemoryKind::Private) + registry_.bytes_of(MemoryKind::Shared);
}

Result<StripeCounts> ResidentNode::counts() {
  std::vector<StripeState> stripes(options_.shape.stripe_count);
  GCOORD_TRY_STATUS(registry_.source().read(std::as_writable_bytes(std::span{stripes}),
                                            reinterpret_cast<const std::byte*>(view_.stripe)));
  StripeCounts sum;
  for (const StripeState& stripe : stripes) {
    add(sum, stripe.counts);
  }
  return sum;
}

Status join_resident(ResidentNode& one, ResidentNode& other) {
  GpuChannelOptions options;
  options.layout = one.channel_layout();
  options.epoch = kEpoch;
  GCOORD_TRY(auto first, GpuChannel::create(one.registry(), options));
  GCOORD_TRY(auto second, GpuChannel::create(other.registry(), options));
  first->attach(second->region(), false);
  second->attach(first->region(), false);
  one.connect(other.options().self, std::move(first));
  other.connect(one.options().self, std::move(second));
  return {};
}

}  // namespace gcoord::server
