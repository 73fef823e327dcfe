// Entries of a simulated log, and the encoding of messages with entries or a snapshot.
//
// A command is a number that is proposed once. `chain` digests every entry up to and including this
// one (terms apart), so that two logs with equal chains at an index have equal prefixes: Log
// Matching and State Machine Safety become one comparison each.
#pragma once

#include "common/ids.h"
#include "common/random.h"
#include "consensus/step/configuration.h"
#include "consensus/step/message.h"
#include "consensus/step/outbox.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::chaos {

struct SimEntry {
  Term term;
  std::uint64_t value = 0;
  std::uint64_t chain = 0;
  consensus::Configuration configuration;  // Meant for EntryKind::Configuration.
  consensus::EntryKind kind = consensus::EntryKind::Command;
  std::uint8_t reserved[7]{};
};

inline std::uint64_t next_chain(std::uint64_t chain, const SimEntry& entry) {
  return mix64(mix64(chain ^ entry.value) ^ static_cast<std::uint64_t>(entry.kind));
}

// The service's state: everything that was applied, as a digest, and the configuration that it
// says.
struct SimState {
  LogIndex index;
  Term term;
  std::uint64_t chain = 0;
  consensus::Configuration configuration;
};

// One consensus message with what travels beside it.
struct SimMessage {
  consensus::Message header;
  std::vector<SimEntry> entries;  // Append.
  SimState state;                 // Snapshot.
};

std::vector<std::byte> encode(const SimMessage& message);
SimMessage decode_message(std::span<const std::byte> bytes);

std::vector<std::byte> encode(const consensus::Heartbeat& heartbeat);
// Whether the bytes are a heartbeat rather than a consensus message.
bool is_heartbeat(std::span<const std::byte> bytes);
consensus::Heartbeat decode_heartbeat(std::span<const std::byte> bytes);

}  // namespace gcoord::chaos
