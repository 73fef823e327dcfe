// Encodings of a shard's data: entries beside an Append, its checkpoint, its snapshot.
//
// Integers are little-endian. What comes from a peer is read with the checks of a hostile reader:
// nothing is believed before it is bounded, and a reader that finds one thing wrong gives nothing.
// Checksums are the business of what carries the bytes (frames, the log of record, the store).
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/configuration.h"
#include "consensus/step/message.h"
#include "consensus/step/outbox.h"
#include "ledger/base/lsn.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

struct EntryView {
  consensus::EntryKind kind = consensus::EntryKind::Command;
  std::span<const std::byte> payload;
};

// --- The extent of an Append: per entry {kind u8, reserved 3, length u32, payload}.

inline constexpr std::size_t kEntryHeaderBytes = 8;

void encode_entry(std::vector<std::byte>& extent, const EntryView& entry);

// Reads entries of an extent one after the other.
class EntryReader {
 public:
  explicit EntryReader(std::span<const std::byte> extent) : rest_(extent) {}

  // The next entry; nothing at the end or at the first thing that cannot be.
  std::optional<EntryView> next();

  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

// Whether the extent holds exactly the entries that the Append announces.
bool well_formed_entries(const consensus::Message& append, std::span<const std::byte> extent);

// --- A Configuration as the payload of its entry: its 48 bytes.

std::span<const std::byte> encode_configuration(const consensus::Configuration& configuration);
std::optional<consensus::Configuration> decode_configuration(std::span<const std::byte> bytes);

// Whether it is what a replica has that knows no configuration yet (docs/adr/0107): all zero. In a
// log or a snapshot there is none such.
bool is_unknown(const consensus::Configuration& configuration);

// What a store says that the cluster was founded with: the unknown one, where the directory joined
// later. DataLoss (kCheckpointImpossible) for bytes that no node writes.
Result<consensus::Configuration> founding_configuration(std::span<const std::byte> stored);

// --- The hard value of a checkpoint: {version u8, reserved 3, entry count u32, lsn u64, term u64,
// vote u32, reserved u32, floor u64, floor_term u64, configuration 48}, then per undecided entry
// {term u64, kind u8, reserved 3, length u32, payload}.

struct HardValue {
  ledger::Lsn lsn;  // Holds everything that records up to this one said of the shard.
  Term term;
  NodeId vote;
  LogIndex floor;  // What the service value beside it holds.
  Term floor_term;
  consensus::Configuration configuration;
};

// Starts a value; encode_hard_entry adds the entries behind the floor in order.
void encode_hard_value(std::vector<std::byte>& bytes, const HardValue& value);
void encode_hard_entry(std::vector<std::byte>& bytes, Term term, const EntryView& entry);

class HardEntryVisitor {
 public:
  virtual ~HardEntryVisitor() = default;
  virtual void on_entry(LogIndex index, Term term, const EntryView& entry) = 0;
};

// Nothing when the bytes are no hard value; the visitor may have seen entries then.
std::optional<HardValue> decode_hard_value(std::span<const std::byte> bytes,
                                           HardEntryVisitor& entries);

// --- A snapshot, in the log of record and as the whole of a transfer: {configuration 48}, then the
// service's bytes.

struct SnapshotView {
  consensus::Configuration configuration;
  std::span<const std::byte> service;
};

void encode_snapshot_head(std::vector<std::byte>& bytes,
                          const consensus::Configuration& configuration);
std::optional<SnapshotView> decode_snapshot(std::span<const std::byte> bytes);

// --- One chunk of a snapshot transfer: the extent of a slot that holds the Snapshot message.

struct ChunkHeader {
  std::uint64_t offset_bytes = 0;  // Of this chunk in the snapshot.
  std::uint64_t total_bytes = 0;   // Of the snapshot.
  std::uint32_t total_crc = 0;     // CRC32C of the snapshot.
  std::uint32_t reserved = 0;
};

static_assert(sizeof(ChunkHeader) == 24);

struct ChunkView {
  ChunkHeader header;
  std::span<const std::byte> bytes;
};

void encode_chunk(std::vector<std::byte>& extent,
                  const ChunkHeader& header,
                  std::span<const std::byte> bytes);
// Nothing when the chunk is empty or reaches beyond its snapshot.
std::optional<ChunkView> decode_chunk(std::span<const std::byte> extent);

}  // namespace gcoord::server
