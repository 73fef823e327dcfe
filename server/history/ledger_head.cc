#include "server/history/ledger_head.h"

#include "common/bytes.h"
#include "ledger/history/history.h"
#include "server/interfaces/log_record.h"

#include <algorithm>
#include <array>
#include <bit>

namespace gcoord::server {
namespace {

using ledger::kMerkleHashBytes;
using ledger::MerkleFrontier;

// On disk and on the wire: never change without a new version.
constexpr std::uint8_t kVersion = 1;
constexpr auto kCheckpoint = static_cast<std::uint8_t>(LedgerHeadKind::Checkpoint);
constexpr auto kSnapshot = static_cast<std::uint8_t>(LedgerHeadKind::Snapshot);
constexpr std::uint32_t kSizeBits = ledger::HistoryOptions{}.levels;  // No tree is larger.

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  // Nothing when there is less.
  std::optional<std::span<const std::byte>> take(std::size_t count) {
    if (count > rest_.size()) {
      return std::nullopt;
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  template <typename T>
  std::optional<T> number() {
    const auto bytes = take(sizeof(T));
    return bytes ? std::optional{load<T>(bytes->data())} : std::nullopt;
  }

  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

bool read_frontier(Reader& reader, LedgerHead& head) {
  const auto size = reader.number<std::uint64_t>();
  if (!size || *size > head.size) {
    return false;
  }
  MerkleFrontier& frontier = head.frontier.emplace();
  frontier.size = *size;
  for (int k = 0; k < std::popcount(*size); ++k) {
    const auto peak = reader.take(kMerkleHashBytes);
    if (!peak) {
      return false;
    }
    std::copy(peak->begin(), peak->end(), frontier.peaks.emplace_back().begin());
  }
  return true;
}

bool read_tail(Reader& reader, std::uint32_t count, LedgerHead& head) {
  for (std::uint32_t k = 0; k < count; ++k) {
    const auto length = reader.number<std::uint32_t>();
    const auto entry =
        length && *length <= ledger::kEntryBytesMax ? reader.take(*length) : std::nullopt;
    if (!entry) {
      return false;
    }
    head.tail.push_back(*entry);
  }
  return true;
}

template <typename T>
void put(std::vector<std::byte>& bytes, T value) {
  std::array<std::byte, sizeof value> stored{};
  store(stored.data(), value);
  bytes.insert(bytes.end(), stored.begin(), stored.end());
}

}  // namespace

std::optional<LedgerHead> decode_ledger_head(std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return LedgerHead{};
  }
  Reader reader(bytes);
  const auto version = reader.number<std::uint8_t>();
  const auto kind = reader.number<std::uint8_t>();
  const auto reserved = reader.number<std::uint16_t>();
  const auto count = reader.number<std::uint32_t>();
  const auto size = reader.number<std::uint64_t>();
  if (!size || *version != kVersion || *kind > kSnapshot || *reserved != 0) {
    return std::nullopt;
  }
  if (*size >> kSizeBits != 0) {
    return std::nullopt;
  }
  LedgerHead head;
  head.size = *size;
  if (*kind == kSnapshot && !(read_frontier(reader, head) && read_tail(reader, *count, head) &&
                              head.frontier->size + head.tail.size() == head.size)) {
    return std::nullopt;
  }
  if (*kind == kCheckpoint && *count != 0) {
    return std::nullopt;
  }
  head.rest = reader.rest();
  return head;
}

void put_ledger_head(std::vector<std::byte>& bytes, const LedgerHeadStart& start) {
  put(bytes, kVersion);
  put(bytes, static_cast<std::uint8_t>(start.kind));
  put(bytes, std::uint16_t{0});
  put(bytes, static_cast<std::uint32_t>(start.entry_count));
  put(bytes, start.size);
}

std::span<const std::byte> ledger_leaf(const AppliedEntry& entry, std::vector<std::byte>& made) {
  if (!entry.leaf.empty()) {
    return entry.leaf;
  }
  if (entry.kind == consensus::EntryKind::Command) {
    return entry.payload;
  }
  const bool configures = entry.kind == consensus::EntryKind::Configuration;
  made.clear();
  put_record_header(made, {configures ? RecordKind::Configuration : RecordKind::Noop});
  made.insert(made.end(), entry.payload.begin(), entry.payload.end());
  return made;
}

}  // namespace gcoord::server
