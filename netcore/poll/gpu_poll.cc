#include "netcore/poll/gpu_poll.h"

#include "netcore/gpu_channel/lane_layout.h"
#include "netcore/memory/order.h"

#include <span>
#include <string>
#include <vector>

namespace gcoord::netcore {
namespace {

// A handle is one object's: its control word never says another one.
constexpr std::uint32_t kEpoch = 1;
constexpr std::size_t kStateOffset = kLineBytes;
constexpr std::size_t kEntriesOffset = 2 * kLineBytes;

}  // namespace

Result<std::unique_ptr<GpuPoll>> GpuPoll::create(MemoryRegistry& registry,
                                                 const GpuPollOptions& options) {
  if (options.entries == 0 || options.entries > kPollEntriesMax) {
    return Status{StatusCode::InvalidArgument,
                  "a poll set has from one to " + std::to_string(kPollEntriesMax) +
                      " entries, not " + std::to_string(options.entries)};
  }
  std::unique_ptr<GpuPoll> poll{new GpuPoll(registry, options)};
  const std::vector<PollEntry> entries(options.entries);
  const auto bytes = std::as_bytes(std::span<const PollEntry>{entries});
  GCOORD_TRY(poll->memory_, registry.allocate(options.kind, kEntriesOffset + bytes.size()));
  GCOORD_TRY_STATUS(registry.source().write(poll->memory_.address + kEntriesOffset, bytes));
  GCOORD_TRY_STATUS(poll->store(poll->control()->epoch, kEpoch));
  return poll;
}

GpuPoll::~GpuPoll() {
  registry_.release(memory_.id);
}

PollSetDevice GpuPoll::device() const {
  PollSetDevice handle;
  handle.state = reinterpret_cast<PollSetState*>(memory_.address + kStateOffset);
  handle.entries = reinterpret_cast<PollEntry*>(memory_.address + kEntriesOffset);
  handle.capacity = options_.entries;
  handle.epoch = kEpoch;
  handle.control = control();
  return handle;
}

Status GpuPoll::abort() {
  return store(control()->abort, 1);
}

Status GpuPoll::close() {
  return store(control()->epoch, 0);
}

ChannelControl* GpuPoll::control() const {
  return reinterpret_cast<ChannelControl*>(memory_.address);
}

Status GpuPoll::store(std::uint64_t& word, std::uint64_t value) {
  if (memory_.kind == MemoryKind::Pinned) {
    SystemOrder::raise(word, value);
    return {};
  }
  return registry_.source().store_word(&word, value);
}

}  // namespace gcoord::netcore
