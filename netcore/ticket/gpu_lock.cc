#include "netcore/ticket/gpu_lock.h"

#include "netcore/memory/order.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace gcoord::netcore {
namespace {

// A handle is one object's: its control word never says another one.
constexpr std::uint32_t kEpoch = 1;

Status no_layout(const TicketLayout& layout) {
  return {StatusCode::InvalidArgument,
          std::to_string(layout.places) + " places for " + std::to_string(layout.groups) +
              " groups: a ticket lock takes a power of two of places, at least two per group and "
              "at most " +
              std::to_string(kTicketPlacesMax)};
}

}  // namespace

Result<std::unique_ptr<GpuTicketLock>> GpuTicketLock::create(MemoryRegistry& registry,
                                                             const GpuTicketLockOptions& options) {
  if (!is_ticket_layout(options.layout)) {
    return no_layout(options.layout);
  }
  std::unique_ptr<GpuTicketLock> lock{new GpuTicketLock(registry, options)};
  GCOORD_TRY(lock->region_, registry.allocate(options.kind, ticket_region_bytes(options.layout)));
  GCOORD_TRY_STATUS(lock->write_first());
  GCOORD_TRY_STATUS(lock->make_control());
  return lock;
}

Result<std::unique_ptr<GpuTicketLock>> GpuTicketLock::import(MemoryRegistry& registry,
                                                             int fd,
                                                             const GpuTicketLockOptions& options) {
  if (!is_ticket_layout(options.layout)) {
    return no_layout(options.layout);
  }
  std::unique_ptr<GpuTicketLock> lock{new GpuTicketLock(registry, options)};
  GCOORD_TRY(lock->region_, registry.import(fd, ticket_region_bytes(options.layout)));
  GCOORD_TRY_STATUS(lock->check_header());
  GCOORD_TRY_STATUS(lock->make_control());
  return lock;
}

GpuTicketLock::~GpuTicketLock() {
  registry_.release(region_.id);
  registry_.release(control_.id);
}

Status GpuTicketLock::write_first() {
  std::vector<std::byte> first(ticket_region_bytes(options_.layout));
  TicketHeader header;
  header.groups = options_.layout.groups;
  header.places = options_.layout.places;
  std::memcpy(first.data(), &header, sizeof(header));
  const TicketWords words{first.data(), options_.layout};
  for (std::uint32_t index = 0; index < options_.layout.places; ++index) {
    words.place(index) = first_ticket_word(index);
  }
  return registry_.source().write(region_.address, first);
}

Status GpuTicketLock::check_header() const {
  TicketHeader header;
  GCOORD_TRY_STATUS(registry_.source().read(
      std::as_writable_bytes(std::span<TicketHeader>{&header, 1}), region_.address));
  if (header.magic != kTicketMagic || header.version != kTicketVersion) {
    return {StatusCode::FailedPrecondition,
            "there is no ticket lock of this version in the memory"};
  }
  if (header.groups != options_.layout.groups || header.places != options_.layout.places) {
    return {StatusCode::FailedPrecondition,
            "the ticket lock has " + std::to_string(header.places) + " places for " +
                std::to_string(header.groups) + " groups, and not the layout that was expected"};
  }
  return {};
}

Status GpuTicketLock::make_control() {
  GCOORD_TRY(control_, registry_.allocate(options_.control_kind, sizeof(ChannelControl)));
  return store(reinterpret_cast<ChannelControl*>(control_.address)->epoch, kEpoch, control_.kind);
}

TicketWords GpuTicketLock::words() const {
  return {region_.address, options_.layout};
}

TicketLockDevice GpuTicketLock::device() const {
  return {words(), reinterpret_cast<ChannelControl*>(control_.address), kEpoch};
}

Result<TicketPeek> GpuTicketLock::look() const {
  std::vector<std::byte> copy(ticket_region_bytes(options_.layout));
  if (is_host_memory()) {
    // Others change it meanwhile: word by word.
    const TicketWords target{copy.data(), options_.layout};
    target.next() = SystemOrder::peek(words().next());
    target.notice().fault = SystemOrder::peek(words().notice().fault);
    for (std::uint32_t index = 0; index < options_.layout.places; ++index) {
      target.place(index) = SystemOrder::observe(words().place(index));
    }
  } else {
    GCOORD_TRY_STATUS(registry_.source().read(copy, region_.address));
  }
  return look_at_tickets(copy, options_.layout);
}

Status GpuTicketLock::revoke(std::uint64_t ticket) {
  GCOORD_TRY_STATUS(store(words().notice().revoke, ticket + 1, region_.kind));
  if (registry_.source().name() == "host") {
    TicketLock<>{device()}.revoke(ticket);
  }
  return {};
}

Status GpuTicketLock::abort() {
  return store(reinterpret_cast<ChannelControl*>(control_.address)->abort, 1, control_.kind);
}

Status GpuTicketLock::close() {
  return store(reinterpret_cast<ChannelControl*>(control_.address)->epoch, 0, control_.kind);
}

bool GpuTicketLock::is_host_memory() const {
  return region_.kind == MemoryKind::Pinned || registry_.source().name() == "host";
}

Status GpuTicketLock::store(std::uint64_t& word, std::uint64_t value, MemoryKind kind) {
  if (kind == MemoryKind::Pinned) {
    SystemOrder::raise(word, value);
    return {};
  }
  return registry_.source().store_word(&word, value);
}

}  // namespace gcoord::netcore
