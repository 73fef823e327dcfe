// Readable form of a log entry for audits by people and programs: who did what, and when.
//
// An entry is one of a turn on the host (log_record.h) or of a turn on a device
// (locks/commands/entry.h), which has 64 bytes with none where the other has the high bytes of its
// time. Any bytes are safe: what cannot be read is of kind "unknown", with its bytes in base64.
// Names and values never change their meaning: proof files carry them. The stand-in of an entry
// that a node hides (ledger/tiles/hidden_entry.h) is of kind "hidden" and has the facts "hidden",
// "right_missing" and "leaf". What it says of a new user or password is the word of whoever wrote
// the stand-in, and has names that begin with kClaim; of anything else it says nothing. Pure;
// thread-safe.
#pragma once

#include "common/name_hash.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gcoord::server {

// In a fixed order, no name twice; "kind" comes first. Integers are decimal, times are UTC
// ("2026-01-31T12:00:00.000Z").
using RecordFacts = std::vector<std::pair<std::string, std::string>>;

// In front of the name of a fact that nothing proves.
inline constexpr std::string_view kClaim = "claimed.";

RecordFacts record_facts(std::span<const std::byte> entry);

// The value of the fact "name_hash": 32 hexadecimal digits.
std::string name_hash_text(NameHash hash);

// Whether the bytes have the form of an entry of the turn on a device.
bool is_device_entry(std::span<const std::byte> entry);

}  // namespace gcoord::server
