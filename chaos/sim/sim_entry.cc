#include "chaos/sim/sim_entry.h"

#include "common/assert.h"

#include <cstring>

namespace gcoord::chaos {
namespace {

template <typename T>
void put(std::vector<std::byte>& bytes, const T& part) {
  const auto* start = reinterpret_cast<const std::byte*>(&part);
  bytes.insert(bytes.end(), start, start + sizeof part);
}

template <typename T>
T take(std::span<const std::byte>& bytes) {
  GCOORD_ASSERT(bytes.size() >= sizeof(T));
  T part;
  std::memcpy(&part, bytes.data(), sizeof part);
  bytes = bytes.subspan(sizeof part);
  return part;
}

}  // namespace

std::vector<std::byte> encode(const SimMessage& message) {
  std::vector<std::byte> bytes;
  put(bytes, message.header);
  for (const SimEntry& entry : message.entries) {
    put(bytes, entry);
  }
  if (message.header.kind == consensus::MessageKind::Snapshot) {
    put(bytes, message.state);
  }
  return bytes;
}

SimMessage decode_message(std::span<const std::byte> bytes) {
  SimMessage message;
  message.header = take<consensus::Message>(bytes);
  if (message.header.kind == consensus::MessageKind::Snapshot) {
    message.state = take<SimState>(bytes);
  }
  while (!bytes.empty()) {
    message.entries.push_back(take<SimEntry>(bytes));
  }
  GCOORD_ASSERT(message.entries.size() == message.header.count);
  return message;
}

std::vector<std::byte> encode(const consensus::Heartbeat& heartbeat) {
  std::vector<std::byte> bytes;
  put(bytes, heartbeat);
  return bytes;
}

bool is_heartbeat(std::span<const std::byte> bytes) {
  return bytes.size() == sizeof(consensus::Heartbeat);
}

consensus::Heartbeat decode_heartbeat(std::span<const std::byte> bytes) {
  return take<consensus::Heartbeat>(bytes);
}

}  // namespace gcoord::chaos
