#include "netcore/gpu_channel/gpu_channel.h"

#include "common/assert.h"
#include "netcore/memory/epoch.h"
#include "netcore/memory/order.h"

#include <string>

namespace gcoord::netcore {
namespace {

// Of a lane that may be at work.
LaneReport peek(LaneReport& part) {
  LaneReport report;
  report.slots = SystemOrder::peek(part.slots);
  report.stale_epoch = SystemOrder::peek(part.stale_epoch);
  report.credit_overrun = SystemOrder::peek(part.credit_overrun);
  report.bad_length = SystemOrder::peek(part.bad_length);
  report.bad_field = SystemOrder::peek(part.bad_field);
  report.stalls = SystemOrder::peek(part.stalls);
  return report;
}

void add(LaneReport& sum, const LaneReport& one) {
  sum.slots += one.slots;
  sum.stale_epoch += one.stale_epoch;
  sum.credit_overrun += one.credit_overrun;
  sum.bad_length += one.bad_length;
  sum.bad_field += one.bad_field;
  sum.stalls += one.stalls;
}

}  // namespace

void add(GpuChannelCounts& sum, const GpuChannelCounts& one) {
  add(sum.sent, one.sent);
  add(sum.received, one.received);
}

Result<std::unique_ptr<GpuChannel>> GpuChannel::create(MemoryRegistry& registry,
                                                       const GpuChannelOptions& options) {
  if (!is_layout(options.layout) || lane_total(options.layout) == 0) {
    return Status{StatusCode::InvalidArgument,
                  "a channel needs a lane, and rings of a power of two slots, at least " +
                      std::to_string(kRingSlotsMin)};
  }
  if (options.epoch == 0) {
    return Status{StatusCode::InvalidArgument, "epoch 0 is never valid"};
  }
  std::unique_ptr<GpuChannel> channel{new GpuChannel(registry, options)};
  GCOORD_TRY_STATUS(channel->allocate());
  return channel;
}

Status GpuChannel::allocate() {
  const std::uint32_t lanes = lane_total(options_.layout);
  GCOORD_TRY(region_, registry_.allocate(options_.region_kind, region_bytes(options_.layout)));
  GCOORD_TRY(states_,
             registry_.allocate(options_.private_kind, kLineBytes + lanes * sizeof(LaneState)));
  GCOORD_TRY(shared_words_,
             registry_.allocate(MemoryKind::Pinned, kLineBytes + 2 * lanes * sizeof(LaneReport)));
  std::vector<LaneState> states;
  for (const BandLanes& band : options_.layout.band) {
    states.insert(states.end(), band.lane_count, first_lane_state(band));
  }
  GCOORD_TRY_STATUS(registry_.source().write(states_.address + kLineBytes,
                                             std::as_bytes(std::span<const LaneState>{states})));
  return store(control()->epoch, options_.epoch);
}

GpuChannel::~GpuChannel() {
  if (owns_peer_) {
    registry_.release(peer_.id);
  }
  registry_.release(region_.id);
  registry_.release(states_.id);
  registry_.release(shared_words_.id);
}

void GpuChannel::attach(const MemoryRange& peer_region, bool owned) {
  GCOORD_ASSERT(!attached());
  GCOORD_ASSERT(peer_region.bytes >= region_bytes(options_.layout));
  peer_ = peer_region;
  owns_peer_ = owned;
}

Status GpuChannel::begin(std::uint32_t epoch) {
  GCOORD_ASSERT(!is_later_epoch(options_.epoch, epoch));
  options_.epoch = epoch;
  return store(control()->epoch, epoch);
}

ChannelControl* GpuChannel::control() const {
  return reinterpret_cast<ChannelControl*>(states_.address);
}

std::uint64_t* GpuChannel::fault_notice() const {
  return reinterpret_cast<std::uint64_t*>(shared_words_.address);
}

Status GpuChannel::store(std::uint64_t& word, std::uint64_t value) {
  if (states_.kind == MemoryKind::Pinned) {
    SystemOrder::raise(word, value);
    return {};
  }
  return registry_.source().store_word(&word, value);
}

LaneReport* GpuChannel::reports() const {
  return reinterpret_cast<LaneReport*>(shared_words_.address + kLineBytes);
}

GpuChannelDevice GpuChannel::device() const {
  GCOORD_ASSERT(attached());
  GpuChannelDevice handle;
  handle.layout = options_.layout;
  handle.own_region = region_.address;
  handle.peer_region = peer_.address;
  handle.states = reinterpret_cast<LaneState*>(states_.address + kLineBytes);
  handle.sent = reports();
  handle.received = reports() + lane_total(options_.layout);
  handle.control = control();
  handle.fault_notice = fault_notice();
  handle.epoch = options_.epoch;
  return handle;
}

Status GpuChannel::abort() {
  return store(control()->abort, 1);
}

Status GpuChannel::close() {
  return store(control()->epoch, 0);
}

DropReason GpuChannel::fault() const {
  const std::uint64_t word = SystemOrder::peek(*fault_notice());
  return word < kDropReasonCount ? static_cast<DropReason>(word) : DropReason::BadField;
}

GpuChannelCounts GpuChannel::counts() const {
  GpuChannelCounts counts;
  const std::uint32_t lanes = lane_total(options_.layout);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    add(counts.sent, peek(reports()[lane]));
    add(counts.received, peek(reports()[lanes + lane]));
  }
  return counts;
}

std::size_t GpuChannel::memory_bytes() const {
  return region_.bytes + states_.bytes + shared_words_.bytes;
}

}  // namespace gcoord::netcore
