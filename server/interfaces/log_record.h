// Header of every command in the log: its kind, its origin and its time.
//
// A proposing leader's host writes eight bytes in front of a command:
//
//   kind 1, origin 1, time 6 (Unix milliseconds of its wall clock, little-endian;
//   kRecordTimeLeastMs: not known; 0 of kinds that say none)
//
// They are part of the entry's payload, so of its Merkle leaf: an audit reads from them who did
// what when, and nothing else reads origin or time: no decision depends on a clock. With them a
// release is 54 bytes, whose leaf is one SHA-256 compression. Entries that an engine makes by
// itself (no-ops, configurations) have none in the log; their leaf has one of their kind, of the
// system, without a time (leaf_of). Entries of the turn on a device are 64 bytes of their own form
// (locks/commands/entry.h); with Feature::DeviceLedger their hosts make the same records of them
// (entry_stamp.h, docs/adr/0159), before it they had no header and their leaves are those 64 bytes.
// Plain functions; thread-safe.
#pragma once

#include "protocol/reply_sink.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// Never renumber: they are in logs.
enum class RecordKind : std::uint8_t {
  Noop = 0,
  LockCommand = 1,    // Behind it: locks/commands/command.h.
  Configuration = 2,  // Behind it: a Configuration as in shard_codec.h.
  Publication = 3,    // Of the cluster log.
  Restore = 4,        // The place of a restore in a log (snapshot_restore.h); never proposed.
  View = 6,           // Behind it: membership/view/command.h. Feature::ClusterView.
  Access = 7,         // Behind it: security/roles/command.h. Feature::Roles.
  SessionNote = 8,    // Behind it: security/audit/note.h. Feature::Audit.
  Limits = 9,         // Behind it: security/limits/command.h. Feature::Limits.
  // A leaf alone, never an entry: of an entry of a device that says nothing by itself, a piece of
  // what stands behind it or a barrier. Nothing behind it. Feature::DeviceLedger.
  Part = 10,
};

// Whether records of the kind change no locks: what a log on a device keeps as records
// (locks/commands/entry_record.h). Kinds of newer releases are such, too; those of the publication
// are with Feature::DeviceLedger.
constexpr bool is_system_kind(RecordKind kind) {
  return kind == RecordKind::Publication || (kind >= RecordKind::View && kind != RecordKind::Part);
}

struct RecordHeader {
  RecordKind kind = RecordKind::Noop;
  protocol::RecordOrigin origin = protocol::RecordOrigin::System;
  std::uint64_t time_ms = 0;  // Below 2^48.
};

inline constexpr std::size_t kRecordHeaderBytes = 8;

// No time, as of a clock that stands in the first minute of 1970. It is not 0, so that no record of
// 64 bytes reads as an entry of a device, whose bytes 4 to 7 are zero (is_device_entry).
inline constexpr std::uint64_t kRecordTimeLeastMs = 0x1'0000;

// Whether records of the kind say when they were made.
constexpr bool says_when(RecordKind kind) {
  return kind != RecordKind::Noop && kind != RecordKind::Configuration && kind != RecordKind::Part;
}

inline std::array<std::byte, kRecordHeaderBytes> encode_record_header(const RecordHeader& header) {
  std::array<std::byte, kRecordHeaderBytes> bytes{};
  bytes[0] = static_cast<std::byte>(header.kind);
  bytes[1] = static_cast<std::byte>(header.origin);
  const std::uint64_t time_ms =
      says_when(header.kind) ? std::max(header.time_ms, kRecordTimeLeastMs) : header.time_ms;
  for (std::size_t k = 0; k < 6; ++k) {
    bytes[2 + k] = static_cast<std::byte>(time_ms >> (8 * k) & 0xffu);
  }
  return bytes;
}

inline void put_record_header(std::vector<std::byte>& record, const RecordHeader& header) {
  const auto bytes = encode_record_header(header);
  record.insert(record.end(), bytes.begin(), bytes.end());
}

// The record of a command's bytes.
inline std::vector<std::byte> make_record(const RecordHeader& header,
                                          std::span<const std::byte> command) {
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + command.size());
  put_record_header(record, header);
  record.insert(record.end(), command.begin(), command.end());
  return record;
}

// Nothing for bytes that are too short. Kind and origin may be ones that a newer release knows.
inline std::optional<RecordHeader> decode_record_header(std::span<const std::byte> record) {
  if (record.size() < kRecordHeaderBytes) {
    return std::nullopt;
  }
  RecordHeader header{.kind = static_cast<RecordKind>(record[0]),
                      .origin = static_cast<protocol::RecordOrigin>(record[1])};
  for (std::size_t k = 0; k < 6; ++k) {
    header.time_ms |= static_cast<std::uint64_t>(record[2 + k]) << (8 * k);
  }
  return header;
}

// What stands behind the header; empty for bytes that are too short.
inline std::span<const std::byte> record_body(std::span<const std::byte> record) {
  return record.size() < kRecordHeaderBytes ? std::span<const std::byte>{}
                                            : record.subspan(kRecordHeaderBytes);
}

}  // namespace gcoord::server
