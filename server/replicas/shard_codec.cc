#include "server/replicas/shard_codec.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/log_limits.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace gcoord::server {
namespace {

using consensus::Configuration;
using consensus::EntryKind;

constexpr std::uint8_t kHardVersion = 1;

// As they lie in memory on every supported machine; never reorder.
struct EntryHeader {
  std::uint8_t kind;
  std::uint8_t reserved[3];
  std::uint32_t length;
};

struct HardHead {
  std::uint8_t version;
  std::uint8_t reserved[3];
  std::uint32_t entry_count;
  std::uint64_t lsn;
  std::uint64_t term;
  std::uint32_t vote;
  std::uint32_t reserved_too;
  std::uint64_t floor;
  std::uint64_t floor_term;
  Configuration configuration;
};

static_assert(sizeof(EntryHeader) == kEntryHeaderBytes);
static_assert(sizeof(HardHead) == 96);

template <typename T>
void append_value(std::vector<std::byte>& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* start = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), start, start + sizeof value);
}

// Takes a value off the front; false when it is not all there.
template <typename T>
bool take_value(std::span<const std::byte>& bytes, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() < sizeof value) {
    return false;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

EntryHeader header_of(const EntryView& entry) {
  return {.kind = static_cast<std::uint8_t>(entry.kind),
          .reserved = {},
          .length = static_cast<std::uint32_t>(entry.payload.size())};
}

bool plausible_entry(const EntryView& entry) {
  switch (entry.kind) {
    case EntryKind::Command:
      return entry.payload.size() <= kCommandBytesMax;
    case EntryKind::Noop:
      return entry.payload.empty();
    case EntryKind::Configuration:
      return entry.payload.size() == sizeof(Configuration);
  }
  return false;
}

// An entry header and its payload off the front.
std::optional<EntryView> take_entry(std::span<const std::byte>& bytes) {
  EntryHeader header{};
  if (!take_value(bytes, header) || header.length > bytes.size()) {
    return std::nullopt;
  }
  const EntryView entry{static_cast<EntryKind>(header.kind), bytes.first(header.length)};
  bytes = bytes.subspan(header.length);
  return plausible_entry(entry) ? std::optional(entry) : std::nullopt;
}

}  // namespace

void encode_entry(std::vector<std::byte>& extent, const EntryView& entry) {
  GCOORD_ASSERT(plausible_entry(entry));
  append_value(extent, header_of(entry));
  extent.insert(extent.end(), entry.payload.begin(), entry.payload.end());
}

std::optional<EntryView> EntryReader::next() {
  return rest_.empty() ? std::nullopt : take_entry(rest_);
}

bool well_formed_entries(const consensus::Message& append, std::span<const std::byte> extent) {
  const bool flagged = (append.flags & consensus::kFlagConfiguration) != 0;
  EntryReader reader{extent};
  for (std::uint32_t k = 0; k < append.count; ++k) {
    const auto entry = reader.next();
    if (!entry) {
      return false;
    }
    // The flag is an upper bound: a leader that was told late what is decided takes that index for
    // a configuration (consensus/step/follow.h). Older ones travel unflagged among the rest.
    if (entry->kind == EntryKind::Configuration && !decode_configuration(entry->payload)) {
      return false;
    }
  }
  return reader.at_end() && (!flagged || append.count == 1);
}

std::span<const std::byte> encode_configuration(const Configuration& configuration) {
  return std::as_bytes(std::span(&configuration, 1));
}

bool is_unknown(const Configuration& configuration) {
  static_assert(std::has_unique_object_representations_v<Configuration>);
  constexpr Configuration kUnknown{};
  return std::memcmp(&configuration, &kUnknown, sizeof configuration) == 0;
}

std::optional<Configuration> decode_configuration(std::span<const std::byte> bytes) {
  Configuration configuration;
  const bool whole = bytes.size() == sizeof configuration && take_value(bytes, configuration);
  return whole && well_formed(configuration, consensus::kReplicaSlots)
             ? std::optional(configuration)
             : std::nullopt;
}

Result<Configuration> founding_configuration(std::span<const std::byte> stored) {
  if (const auto decoded = decode_configuration(stored)) {
    return *decoded;
  }
  constexpr Configuration kUnknown{};
  const auto unknown = encode_configuration(kUnknown);
  if (std::equal(stored.begin(), stored.end(), unknown.begin(), unknown.end())) {
    return Configuration{};
  }
  return Status{
      StatusCode::DataLoss,
      std::string("the checkpoint store has an impossible configuration") + ledger::kRotAdvice,
      kCheckpointImpossible};
}

void encode_hard_value(std::vector<std::byte>& bytes, const HardValue& value) {
  bytes.clear();
  append_value(bytes,
               HardHead{.version = kHardVersion,
                        .reserved = {},
                        .entry_count = 0,
                        .lsn = value.lsn.value,
                        .term = value.term.value,
                        .vote = value.vote.value,
                        .reserved_too = 0,
                        .floor = value.floor.value,
                        .floor_term = value.floor_term.value,
                        .configuration = value.configuration});
}

void encode_hard_entry(std::vector<std::byte>& bytes, Term term, const EntryView& entry) {
  GCOORD_ASSERT(bytes.size() >= sizeof(HardHead));
  append_value(bytes, term.value);
  encode_entry(bytes, entry);
  std::uint32_t entry_count = 0;
  std::byte* const at = bytes.data() + offsetof(HardHead, entry_count);
  std::memcpy(&entry_count, at, sizeof entry_count);
  ++entry_count;
  std::memcpy(at, &entry_count, sizeof entry_count);
}

std::optional<HardValue> decode_hard_value(std::span<const std::byte> bytes,
                                           HardEntryVisitor& entries) {
  HardHead head{};
  if (!take_value(bytes, head) || head.version != kHardVersion ||
      !(well_formed(head.configuration, consensus::kReplicaSlots) ||
        is_unknown(head.configuration)) ||
      head.floor_term > head.term) {
    return std::nullopt;
  }
  for (std::uint32_t k = 0; k < head.entry_count; ++k) {
    std::uint64_t term = 0;
    const auto entry = take_value(bytes, term) ? take_entry(bytes) : std::nullopt;
    if (!entry || term > head.term) {
      return std::nullopt;
    }
    entries.on_entry(LogIndex{head.floor + 1 + k}, Term{term}, *entry);
  }
  if (!bytes.empty()) {
    return std::nullopt;
  }
  return HardValue{.lsn = ledger::Lsn{head.lsn},
                   .term = Term{head.term},
                   .vote = NodeId{head.vote},
                   .floor = LogIndex{head.floor},
                   .floor_term = Term{head.floor_term},
                   .configuration = head.configuration};
}

void encode_snapshot_head(std::vector<std::byte>& bytes, const Configuration& configuration) {
  bytes.clear();
  append_value(bytes, configuration);
}

std::optional<SnapshotView> decode_snapshot(std::span<const std::byte> bytes) {
  Configuration configuration;
  if (!take_value(bytes, configuration) || !well_formed(configuration, consensus::kReplicaSlots)) {
    return std::nullopt;
  }
  return SnapshotView{configuration, bytes};
}

void encode_chunk(std::vector<std::byte>& extent,
                  const ChunkHeader& header,
                  std::span<const std::byte> bytes) {
  extent.clear();
  append_value(extent, header);
  extent.insert(extent.end(), bytes.begin(), bytes.end());
}

std::optional<ChunkView> decode_chunk(std::span<const std::byte> extent) {
  ChunkHeader header;
  if (!take_value(extent, header) || extent.empty() || header.reserved != 0) {
    return std::nullopt;
  }
  const bool inside = header.offset_bytes <= header.total_bytes &&
                      extent.size() <= header.total_bytes - header.offset_bytes;
  return inside ? std::optional(ChunkView{header, extent}) : std::nullopt;
}

}  // namespace gcoord::server
