#include "ledger/snapshot/decoder.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"
#include "ledger/base/flipped_bit.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kShardPayloadBytes = 32;
constexpr std::size_t kEndPayloadBytes = 24;
constexpr std::size_t kHeaderBytesMin = 8 + 8 + 4 + 4 + 4 + 4 + 2;
constexpr std::size_t kHeaderNodeBytes = 8;
// Of users and roles; above what a cluster keeps (security/roles/role_table.h).
constexpr std::size_t kAccessBytesMax = std::size_t{8} << 20;
// The same of limits (security/limits/limit_table.h).
constexpr std::size_t kLimitsBytesMax = std::size_t{4} << 20;

Status failed(std::string what, std::uint32_t detail) {
  return {StatusCode::DataLoss, std::move(what), detail};
}

bool has_magic(std::span<const std::byte> bytes) {
  const auto magic = std::as_bytes(std::span{kSnapshotMagic});
  const std::size_t size = std::min(bytes.size(), magic.size());
  return std::ranges::equal(bytes.first(size), magic.first(size));
}

// Nothing when the payload is no header.
std::optional<SnapshotHeader> parse_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytesMin) {
    return std::nullopt;
  }
  SnapshotHeader header;
  header.cluster = ClusterId{load<std::uint64_t>(bytes.data())};
  header.time_ms = load<std::uint64_t>(&bytes[8]);
  header.node = NodeId{load<std::uint32_t>(&bytes[16])};
  header.shard_count = load<std::uint32_t>(&bytes[20]);
  const auto flags = load<std::uint32_t>(&bytes[24]);
  header.durable = (flags & 1) != 0;
  header.ledger = (flags & 2) != 0;
  const std::size_t node_count = load<std::uint32_t>(&bytes[28]);
  const std::size_t text_at = 32 + node_count * kHeaderNodeBytes;
  if (node_count > kSnapshotNodesMax || flags > 3 || bytes.size() < text_at + 2) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < node_count; ++k) {
    const std::byte* at = &bytes[32 + k * kHeaderNodeBytes];
    header.nodes.push_back(
        {NodeId{load<std::uint32_t>(at)}, Incarnation{load<std::uint32_t>(at + 4)}});
  }
  const std::size_t text_bytes = load<std::uint16_t>(&bytes[text_at]);
  if (text_bytes > kSnapshotReleaseBytesMax || bytes.size() != text_at + 2 + text_bytes) {
    return std::nullopt;
  }
  header.release.assign(reinterpret_cast<const char*>(bytes.data() + text_at + 2), text_bytes);
  const bool sane = header.cluster.value != 0 && header.node.value != 0 &&
                    header.shard_count != 0 && header.shard_count <= kSnapshotShardsMax;
  return sane ? std::optional(std::move(header)) : std::nullopt;
}

// A frontier fits one section: 64 peaks at most.
std::optional<SnapshotFrontier> parse_frontier(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) {
    return std::nullopt;
  }
  SnapshotFrontier frontier{.size = load<std::uint64_t>(bytes.data())};
  const auto peak_count = static_cast<std::size_t>(std::popcount(frontier.size));
  if (bytes.size() != 8 + peak_count * kMerkleHashBytes) {
    return std::nullopt;
  }
  frontier.peaks.resize(peak_count);
  for (std::size_t k = 0; k < peak_count; ++k) {
    std::memcpy(frontier.peaks[k].data(), &bytes[8 + k * kMerkleHashBytes], kMerkleHashBytes);
  }
  return frontier;
}

}  // namespace

Status SnapshotStates::on_shard(const SnapshotShard& shard) {
  GCOORD_TRY_STATUS(hand_over());
  begun_ = true;
  whole_.shard = shard;
  whole_.state.clear();
  whole_.frontier.reset();
  whole_.view.clear();
  whole_.access.clear();
  whole_.limits.clear();
  frontier_.clear();
  return {};
}

Status SnapshotStates::on_part(SnapshotKind kind, std::span<const std::byte> bytes, bool last) {
  if (kind == SnapshotKind::State) {
    whole_.state.insert(whole_.state.end(), bytes.begin(), bytes.end());
  } else if (kind == SnapshotKind::View) {
    if (!last || !whole_.view.empty()) {
      return failed(
          "shard " + std::to_string(whole_.shard.shard.value) + " has an impossible cluster view",
          kSnapshotImpossible);
    }
    whole_.view.assign(bytes.begin(), bytes.end());
  } else if (kind == SnapshotKind::Access) {
    if (whole_.access.size() + bytes.size() > kAccessBytesMax) {
      return failed(
          "shard " + std::to_string(whole_.shard.shard.value) + " has impossible users and roles",
          kSnapshotImpossible);
    }
    whole_.access.insert(whole_.access.end(), bytes.begin(), bytes.end());
  } else if (kind == SnapshotKind::Limits) {
    if (whole_.limits.size() + bytes.size() > kLimitsBytesMax) {
      return failed("shard " + std::to_string(whole_.shard.shard.value) + " has impossible limits",
                    kSnapshotImpossible);
    }
    whole_.limits.insert(whole_.limits.end(), bytes.begin(), bytes.end());
  } else if (kind == SnapshotKind::Frontier) {
    frontier_.insert(frontier_.end(), bytes.begin(), bytes.end());
    whole_.frontier = last ? parse_frontier(frontier_) : std::nullopt;
    if (!whole_.frontier) {
      return failed(
          "shard " + std::to_string(whole_.shard.shard.value) + " has an impossible frontier",
          kSnapshotImpossible);
    }
  }
  return {};
}

Status SnapshotStates::on_end() {
  return hand_over();
}

Status SnapshotStates::hand_over() {
  return std::exchange(begun_, false) ? on_state(whole_) : Status{};
}

Status SnapshotDecoder::feed(std::span<const std::byte> bytes) {
  while (failure_.ok() && !bytes.empty()) {
    if (phase_ == Phase::Done) {
      failure_ = failed("bytes follow its end at byte " + std::to_string(at_), kSnapshotTrailing);
      break;
    }
    const std::size_t size = std::min(bytes.size(), needed_bytes_ - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    bytes = bytes.subspan(size);
    while (failure_.ok() && phase_ != Phase::Done && buffer_.size() == needed_bytes_) {
      failure_ = step();
    }
  }
  return failure_;
}

Status SnapshotDecoder::finish() {
  if (failure_.ok() && phase_ != Phase::Done) {
    const std::uint64_t size = at_ + buffer_.size();
    const bool foreign = phase_ == Phase::Prologue && !has_magic(buffer_);
    failure_ = foreign ? failed("it does not begin like a snapshot", kSnapshotForeign)
                       : failed("it ends at byte " + std::to_string(size) + ", " +
                                    (phase_ == Phase::Hash ? "in its hash" : "in " + place()),
                                kSnapshotCut);
  }
  return failure_;
}

Status SnapshotDecoder::step() {
  switch (phase_) {
    case Phase::Prologue:
      return on_prologue();
    case Phase::Head:
      return on_head();
    case Phase::Payload:
      return on_payload();
    case Phase::Hash:
      return on_hash();
    case Phase::Done:
      break;
  }
  return {};
}

void SnapshotDecoder::expect(Phase phase, std::size_t byte_count) {
  phase_ = phase;
  needed_bytes_ = byte_count;
}

void SnapshotDecoder::consume() {
  hash_.add(buffer_);
  at_ += buffer_.size();
  counted_.bytes = at_;
  buffer_.clear();
}

std::string SnapshotDecoder::place() const {
  const std::string section = "section " + std::to_string(counted_.section_count);
  const bool of_shard = phase_ == Phase::Payload && head_.kind != SnapshotKind::Header &&
                        head_.kind != SnapshotKind::End;
  return phase_ == Phase::Prologue ? "its first bytes"
         : of_shard                ? section + " of shard " + std::to_string(head_.shard.value)
                                   : section;
}

Status SnapshotDecoder::impossible(const char* what) const {
  return failed(place() + " at byte " + std::to_string(at_) + " " + what, kSnapshotImpossible);
}

Status SnapshotDecoder::rot(const std::string& what,
                            std::size_t checked_bytes,
                            std::uint32_t stored) const {
  const auto checked = std::span{buffer_}.first(checked_bytes);
  const auto flipped = find_flipped_bit(stored, crc32c(checked), checked_bytes);
  std::string text =
      what + ", bytes " + std::to_string(at_) + " to " + std::to_string(at_ + buffer_.size() - 1);
  if (flipped) {
    text += "; as if bit " + std::to_string(flipped->bit) + " of byte " +
            std::to_string(at_ + flipped->byte) + " were flipped";
  }
  return failed(std::move(text), kSnapshotRot);
}

// A file with another magic is another file, unless its checksum says that this magic was meant.
Status SnapshotDecoder::on_prologue() {
  const auto stored = load<std::uint32_t>(&buffer_[12]);
  std::vector<std::byte> meant(buffer_.begin(), buffer_.begin() + 12);
  std::memcpy(meant.data(), kSnapshotMagic.data(), kSnapshotMagic.size());
  if (!has_magic(buffer_) && crc32c(meant) != stored) {
    return failed("it does not begin like a snapshot", kSnapshotForeign);
  }
  if (crc32c(std::span{buffer_}.first(12)) != stored) {
    return rot("its first bytes are damaged", 12, stored);
  }
  const auto format = load<std::uint32_t>(&buffer_[8]);
  if (format != kSnapshotFormatNewest) {
    return {StatusCode::FailedPrecondition,
            "format " + std::to_string(format) + ", and this release reads " +
                std::to_string(kSnapshotFormatNewest),
            kSnapshotFormat};
  }
  consume();
  expect(Phase::Head, kSnapshotHeadBytes);
  return {};
}

Status SnapshotDecoder::on_head() {
  const auto stored = load<std::uint32_t>(&buffer_[20]);
  if (crc32c(std::span{buffer_}.first(20)) != stored) {
    return rot("the head of " + place() + " is damaged", 20, stored);
  }
  head_ = {.kind = static_cast<SnapshotKind>(load<std::uint16_t>(buffer_.data())),
           .flags = load<std::uint16_t>(&buffer_[2]),
           .shard = ShardId{load<std::uint32_t>(&buffer_[4])},
           .payload_bytes = load<std::uint32_t>(&buffer_[8]),
           .payload_crc = load<std::uint32_t>(&buffer_[16])};
  constexpr std::uint16_t kKnownFlags = kSnapshotLastPart | kSnapshotPassOver;
  if (head_.payload_bytes > kSnapshotPartBytesMax || load<std::uint32_t>(&buffer_[12]) != 0 ||
      (head_.flags & ~kKnownFlags) != 0) {
    return impossible("has an impossible head");
  }
  GCOORD_TRY_STATUS(check_order());
  consume();
  expect(Phase::Payload, head_.payload_bytes);
  return {};
}

// What may follow what: see snapshot_format.h.
Status SnapshotDecoder::check_order() const {
  const bool single = head_.kind < SnapshotKind::State || head_.kind == SnapshotKind::End;
  const bool first = counted_.section_count == 0;
  const bool complete = !open_ && (!shard_ || kind_ >= SnapshotKind::State);
  bool fits = first == (head_.kind == SnapshotKind::Header) && (!single || head_.last());
  if (single && !first) {
    fits = fits && complete;
  } else if (!first) {
    const bool follows = open_                          ? head_.kind == kind_
                         : kind_ == SnapshotKind::Shard ? head_.kind == SnapshotKind::State
                                                        : head_.kind > kind_;
    fits = fits && shard_ && head_.shard == shard_->shard && follows;
  }
  return fits ? Status{} : impossible("is at an impossible place");
}

Status SnapshotDecoder::on_payload() {
  if (crc32c(buffer_) != head_.payload_crc) {
    return rot(place() + " is damaged", buffer_.size(), head_.payload_crc);
  }
  switch (head_.kind) {
    case SnapshotKind::Header:
      GCOORD_TRY_STATUS(read_header());
      break;
    case SnapshotKind::Shard:
      GCOORD_TRY_STATUS(read_shard());
      break;
    case SnapshotKind::End:
      GCOORD_TRY_STATUS(read_end());
      break;
    default:
      GCOORD_TRY_STATUS(read_part());
  }
  kind_ = head_.kind;
  open_ = !head_.last();
  ++counted_.section_count;
  consume();
  const bool ends = head_.kind == SnapshotKind::End;
  expect(ends ? Phase::Hash : Phase::Head, ends ? kSnapshotHashBytes : kSnapshotHeadBytes);
  return {};
}

Status SnapshotDecoder::read_header() {
  header_ = parse_header(buffer_);
  return header_ ? visitor_.on_header(*header_) : impossible("is not a header");
}

Status SnapshotDecoder::read_shard() {
  if (buffer_.size() != kShardPayloadBytes) {
    return impossible("does not describe a shard");
  }
  const SnapshotShard shard{.shard = head_.shard,
                            .applied = LogIndex{load<std::uint64_t>(buffer_.data())},
                            .applied_term = Term{load<std::uint64_t>(&buffer_[8])},
                            .term = Term{load<std::uint64_t>(&buffer_[16])},
                            .state_bytes = load<std::uint64_t>(&buffer_[24])};
  if (shard.shard.value >= header_->shard_count || (shard_ && shard.shard <= shard_->shard) ||
      shard.applied_term > shard.term) {
    return impossible("describes an impossible shard");
  }
  shard_ = shard;
  state_bytes_ = 0;
  ++counted_.shard_count;
  return visitor_.on_shard(shard);
}

Status SnapshotDecoder::read_part() {
  const bool known = head_.kind <= SnapshotKind::Limits;
  if (!known && (head_.flags & kSnapshotPassOver) == 0) {
    return {StatusCode::FailedPrecondition,
            place() + " is of kind " + std::to_string(static_cast<unsigned>(head_.kind)) +
                ", which this release does not know",
            kSnapshotFormat};
  }
  if (head_.kind == SnapshotKind::State) {
    state_bytes_ += buffer_.size();
    const bool right = head_.last() ? state_bytes_ == shard_->state_bytes
                                    : state_bytes_ < shard_->state_bytes && !buffer_.empty();
    if (!right) {
      return impossible("has another length than its shard says");
    }
  }
  return known ? visitor_.on_part(head_.kind, buffer_, head_.last()) : Status{};
}

Status SnapshotDecoder::read_end() {
  if (buffer_.size() != kEndPayloadBytes) {
    return impossible("is not an end section");
  }
  end_ = {.shard_count = load<std::uint64_t>(buffer_.data()),
          .section_count = load<std::uint64_t>(&buffer_[8]),
          .bytes = load<std::uint64_t>(&buffer_[16])};
  const bool right = end_.shard_count == counted_.shard_count &&
                     end_.section_count == counted_.section_count &&
                     end_.bytes + kSnapshotHeadBytes == counted_.bytes;
  return right ? visitor_.on_end() : impossible("has a wrong count of sections");
}

Status SnapshotDecoder::on_hash() {
  const Sha256Stream::Digest found = hash_.finish();
  if (!std::ranges::equal(found, buffer_)) {
    return failed("the SHA-256 over all is not the one in its last bytes, " + std::to_string(at_) +
                      " to " + std::to_string(at_ + buffer_.size() - 1) +
                      ", though every section's own checksum is right",
                  kSnapshotRot);
  }
  digest_ = found;
  at_ += buffer_.size();
  buffer_.clear();
  expect(Phase::Done, 0);
  return {};
}

}  // namespace gcoord::ledger
