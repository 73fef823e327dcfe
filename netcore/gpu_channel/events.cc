#include "netcore/gpu_channel/events.h"

#include "common/assert.h"
#include "netcore/gpu_channel/lane_layout.h"
#include "netcore/memory/order.h"

#include <string>
#include <utility>

namespace gcoord::netcore {
namespace {

std::uint64_t* line_of(const MemoryRange& range, std::uint32_t index) {
  return reinterpret_cast<std::uint64_t*>(range.address + index * kLineBytes);
}

}  // namespace

Result<std::unique_ptr<GpuEvents>> GpuEvents::create(MemoryRegistry& registry,
                                                     const GpuEventsOptions& options) {
  if (options.words > kGpuEventsMax || options.bells > kGpuEventsMax) {
    return Status{StatusCode::InvalidArgument,
                  std::to_string(options.words) + " event words and " +
                      std::to_string(options.bells) + " bells: at most " +
                      std::to_string(kGpuEventsMax) + " of each"};
  }
  std::unique_ptr<GpuEvents> events{new GpuEvents(registry, options)};
  if (options.words != 0) {
    GCOORD_TRY(events->words_, registry.allocate(options.word_kind, options.words * kLineBytes));
  }
  if (options.bells != 0) {
    GCOORD_TRY(events->bells_, registry.allocate(MemoryKind::Pinned, options.bells * kLineBytes));
  }
  return events;
}

GpuEvents::~GpuEvents() {
  watch_.reset();  // It looks at the bells.
  registry_.release(words_.id);
  registry_.release(bells_.id);
}

const std::uint64_t* GpuEvents::word(std::uint32_t index) const {
  GCOORD_ASSERT(index < options_.words);
  return line_of(words_, index);
}

std::uint64_t* GpuEvents::bell(std::uint32_t index) const {
  GCOORD_ASSERT(index < options_.bells);
  return line_of(bells_, index);
}

Status GpuEvents::raise(std::uint32_t index) {
  GCOORD_ASSERT(index < options_.words);
  std::uint64_t* word = line_of(words_, index);
  const std::uint64_t count = ++raised_[index];
  if (words_.kind == MemoryKind::Pinned || registry_.source().name() == "host") {
    SystemOrder::publish(*word, count);
    return {};
  }
  return registry_.source().store_word(word, count);
}

Result<int> GpuEvents::event_fd(const BellWatchOptions& options) {
  if (watch_ == nullptr) {
    std::vector<std::uint64_t*> bells;
    for (std::uint32_t index = 0; index < options_.bells; ++index) {
      bells.push_back(bell(index));
    }
    GCOORD_TRY(watch_, BellWatch::start(std::move(bells), options));
  }
  return watch_->fd();
}

std::optional<BellRings> GpuEvents::take() {
  GCOORD_ASSERT(watch_ != nullptr);
  return watch_->take();
}

}  // namespace gcoord::netcore
