#include "server/resident/node/node.h"

#include "common/device/device_errors.h"
#include "netcore/proxy/gpu_proxy.h"
#include "server/device_turn/range_arena.h"
#include "server/device_turn/store.h"
#include "server/resident/node/image.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace gcoord::server {
namespace {

using netcore::Band;
using netcore::GpuChannel;
using netcore::GpuChannelCounts;
using netcore::GpuChannelOptions;
using netcore::MemoryKind;

constexpr std::uint32_t kEpoch = 1;

// Far, but arithmetic stays possible.
constexpr Tick kTickNever{std::uint64_t{1} << 62};

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

}  // namespace

Result<std::unique_ptr<ResidentNode>> ResidentNode::make(
    const ResidentNodeOptions& options, std::unique_ptr<netcore::MemorySource> memory) {
  if (!is_turn_ring<locks::LockEntry>(options.shape, options.ring_slots)) {
    return Status{StatusCode::InvalidArgument, "the lanes between nodes are too short"};
  }
  GCOORD_ASSERT(options.names.count() == options.shape.voters);
  std::unique_ptr<ResidentNode> node{new ResidentNode(options, std::move(memory))};
  GCOORD_TRY_STATUS(node->carve());
  GCOORD_TRY_STATUS(node->carve_leaders());
  GCOORD_TRY_STATUS(node->open_clients());
  return node;
}

ResidentNode::ResidentNode(const ResidentNodeOptions& options,
                           std::unique_ptr<netcore::MemorySource> memory)
    : options_(options), registry_(std::move(memory)) {}

ResidentNode::~ResidentNode() = default;

Status ResidentNode::carve() {
  const TurnShape& shape = options_.shape;
  const std::size_t bytes =
      turn_rows_bytes<LockTurnService>(shape) + lock_turn_bytes(shape, options_.sizes);
  GCOORD_TRY(const netcore::MemoryRange range, registry_.allocate(MemoryKind::Private, bytes));
  RangeArena arena(range);
  view_ = carve_turn_rows<LockTurnService>(arena, shape);
  view_.self = options_.names.number(options_.self);
  CarvedLocks carved =
      carve_lock_turn(arena, shape, options_.sizes, options_.index_seed, &view_.control->abort);
  view_.service = carved.service;
  memory_ = range;
  stripes_ = carved.stripes;
  GCOORD_TRY_STATUS(pools_.open(options_.pages));
  return registry_.source().write(reinterpret_cast<std::byte*>(carved.service.stripes),
                                  std::as_bytes(std::span{carved.stripes}));
}

Status ResidentNode::carve_leaders() {
  const TurnShape& shape = options_.shape;
  LeaderTable& leaders = view_.leaders;
  leaders.stripe_pages = leader_pages(stripe_rows(shape));
  const std::size_t pages = std::size_t{shape.stripe_count} * leaders.stripe_pages;
  const std::size_t bytes = ColumnArena::bytes_for<std::uint64_t>(shape.shard_count) +
                            ColumnArena::bytes_for<std::uint64_t>(pages);
  GCOORD_TRY(const netcore::MemoryRange range, registry_.allocate(MemoryKind::Pinned, bytes));
  RangeArena arena(range);
  leaders.word = arena.column<std::uint64_t>(shape.shard_count);
  leaders.page = arena.column<std::uint64_t>(pages);
  return {};
}

Status ResidentNode::open_clients() {
  const std::uint32_t stripes = options_.shape.stripe_count;
  // A ring that was read has half of its slots granted at least: more than a look's refusals.
  GCOORD_ASSERT(options_.client_slots / 2 > kTurnRequests);
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
    lanes_.emplace_back(end, lane, options_.names);
  }
  return {};
}

netcore::LaneLayoutOptions ResidentNode::channel_layout() const {
  return layout_of(Band::Consensus, options_.shape.stripe_count, options_.ring_slots);
}

void ResidentNode::enter(NodeId peer, const GpuChannel& channel) {
  GCOORD_ASSERT(peer != options_.self && options_.names.number(peer) != NodeId{});
  const std::uint32_t place = place_of(peer);
  add(replaced_, counts_of(place));
  view_.peer[place] = options_.names.number(peer);
  view_.channel[place] = channel.device();
  epoch_last_[place] = netcore::later_epoch(epoch_last_[place], channel.options().epoch);
  absent_[place].reset();
  outlived_[place] = false;
  fresh_[place] = true;
}

void ResidentNode::connect(NodeId peer, std::unique_ptr<GpuChannel> channel) {
  enter(peer, *channel);
  const std::uint32_t place = place_of(peer);
  channel_[place] = std::move(channel);
  proxy_[place].reset();
}

void ResidentNode::connect(NodeId peer, std::unique_ptr<netcore::GpuProxy> proxy) {
  enter(peer, proxy->device_end());
  const std::uint32_t place = place_of(peer);
  proxy_[place] = std::move(proxy);
  channel_[place].reset();
}

GpuChannelCounts ResidentNode::counts_of(std::uint32_t place) const {
  if (absent_[place] != nullptr) {
    return {};
  }
  if (proxy_[place] != nullptr) {
    return proxy_[place]->device_end().counts();
  }
  return channel_[place] != nullptr ? channel_[place]->counts() : GpuChannelCounts{};
}

GpuChannelCounts ResidentNode::channel_counts() const {
  GpuChannelCounts counts = replaced_;
  for (std::uint32_t place = 0; place < peer_count(); ++place) {
    add(counts, counts_of(place));
  }
  return counts;
}

netcore::GpuProxy* ResidentNode::proxy(NodeId peer) const {
  return proxy_[place_of(peer)].get();
}

Status ResidentNode::stand_in(NodeId peer) {
  GpuChannelOptions options;
  options.layout = channel_layout();
  options.epoch = kEpoch;
  GCOORD_TRY(auto here, GpuChannel::create(registry_, options));
  GCOORD_TRY(auto there, GpuChannel::create(registry_, options));
  here->attach(there->region(), false);
  there->attach(here->region(), false);
  connect(peer, std::move(here));
  absent_[place_of(peer)] = std::move(there);
  return {};
}

std::uint32_t ResidentNode::epoch(NodeId peer) const {
  const std::uint32_t place = place_of(peer);
  const bool ended = proxy_[place] != nullptr && proxy_[place]->ended();
  const bool there =
      view_.channel[place].epoch != 0 && absent_[place] == nullptr && !outlived_[place];
  return there && !ended && fault(peer) == netcore::DropReason::None ? view_.channel[place].epoch
                                                                     : 0;
}

void ResidentNode::forget_epochs(NodeId peer) {
  const std::uint32_t place = place_of(peer);
  epoch_last_[place] = 0;
  outlived_[place] = true;
}

// Of what came over a channel that was replaced nothing is held back, and liveness words are
// counted anew. The clock's last reading told the stripes to leave.
Status ResidentNode::go_on() {
  netcore::MemorySource& source = registry_.source();
  std::vector<StripeState> stripes(options_.shape.stripe_count);
  const auto bytes = std::as_writable_bytes(std::span{stripes});
  GCOORD_TRY_STATUS(source.read(bytes, reinterpret_cast<const std::byte*>(view_.stripe)));
  for (StripeState& stripe : stripes) {
    if (stripe.halted != 0) {
      return {StatusCode::FailedPrecondition, "a stripe has given up", kDeviceExhausted};
    }
    for (std::uint32_t place = 0; place < peer_count(); ++place) {
      stripe.held[place] = fresh_[place] ? 0 : stripe.held[place];
      stripe.broken[place] = fresh_[place] ? 0 : stripe.broken[place];
    }
  }
  GCOORD_TRY_STATUS(source.write(reinterpret_cast<std::byte*>(view_.stripe), bytes));
  ClockState clock;
  const auto clock_bytes = std::as_writable_bytes(std::span{&clock, 1});
  auto* clock_place = reinterpret_cast<std::byte*>(view_.clock_state);
  GCOORD_TRY_STATUS(source.read(clock_bytes, clock_place));
  for (std::uint32_t place = 0; place < peer_count(); ++place) {
    clock.heard[place] = fresh_[place] ? 0 : clock.heard[place];
  }
  clock.host_ns = 0;
  clock.leave = 0;
  GCOORD_TRY_STATUS(source.write(clock_place, clock_bytes));
  for (TurnInput& input : view_.clock->input) {
    GCOORD_TRY_STATUS(source.store_word(&input.leave, 0));
  }
  GCOORD_TRY_STATUS(pools_.make_room());
  return source.store_word(&view_.control->abort, 0);
}

Status ResidentNode::restore(const std::function<void(const ResidentView&)>& fill) {
  ResidentImage image(options_, memory_.bytes);
  fill(image.view());
  GCOORD_TRY(*image.view().wide_used, pools_.take_over(image.view()));
  GCOORD_TRY_STATUS(image.copy_to(registry_.source(), memory_.address));
  for (std::size_t k = 0; k < stripes_.size(); ++k) {
    stripes_[k].ends = image.view().service.stripes[k].ends;
  }
  restored_ = true;
  return registry_.source().write(reinterpret_cast<std::byte*>(view_.service.stripes),
                                  std::as_bytes(std::span{stripes_}));
}

bool ResidentNode::has_channel(NodeId peer) const {
  return view_.channel[place_of(peer)].epoch != 0;
}

bool ResidentNode::connected() const {
  return std::all_of(view_.channel, view_.channel + peer_count(), [](const auto& each) {
    return each.epoch != 0;
  });
}

Status ResidentNode::abort() {
  return registry_.source().store_word(&view_.control->abort, 1);
}

Status ResidentNode::hold_votes(bool held) {
  if (held == votes_held()) {
    return {};
  }
  Tick& vote_after = options_.timing.vote_after;
  if (held) {
    vote_after_ = std::exchange(vote_after, kTickNever);
  } else {
    vote_after = *std::exchange(vote_after_, std::nullopt);
  }
  return registry_.source().store_word(&view_.control->wakes, ++wakes_);
}

Status ResidentNode::tell_alive() {
  return registry_.source().store_word(&view_.control->host, ++alive_);
}

Result<std::uint64_t> ResidentNode::abort_word() {
  std::uint64_t word = 0;
  GCOORD_TRY_STATUS(
      registry_.source().read(std::as_writable_bytes(std::span{&word, 1}),
                              reinterpret_cast<const std::byte*>(&view_.control->abort)));
  return word;
}

netcore::DropReason ResidentNode::fault(NodeId peer) const {
  const std::uint32_t place = place_of(peer);
  if (proxy_[place] != nullptr) {
    return proxy_[place]->fault();
  }
  return channel_[place] == nullptr ? netcore::DropReason::None : channel_[place]->fault();
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
  options.epoch = netcore::later_epoch(one.epoch_next(other.options().self),
                                       other.epoch_next(one.options().self));
  GCOORD_TRY(auto first, GpuChannel::create(one.registry(), options));
  GCOORD_TRY(auto second, GpuChannel::create(other.registry(), options));
  first->attach(second->region(), false);
  second->attach(first->region(), false);
  one.connect(other.options().self, std::move(first));
  other.connect(one.options().self, std::move(second));
  return {};
}

}  // namespace gcoord::server
