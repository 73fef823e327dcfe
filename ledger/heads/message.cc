#include "ledger/heads/message.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/limits.h"
#include "ledger/merkle/proof.h"

#include <type_traits>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kHeadBytes = 8;

static_assert(kHeadBytes + 22 + kHeadsPerPage * ledger::kShardHeadBytes <= kPeerMessageBytesMax);
static_assert(kHeadBytes + 20 + ledger::kProofHashesMax * ledger::kMerkleHashBytes +
                  kLeavesPerAnswer * ledger::kShardHeadBytes <=
              kPeerMessageBytesMax);

using Reader = ByteReader;
using Writer = ByteWriter;

template <typename T>
void write_count(Writer& out, const std::vector<T>& list, std::size_t count_max) {
  GCOORD_ASSERT(list.size() <= count_max);
  out.integer(static_cast<std::uint16_t>(list.size()));
}

// Reads a list, or fails for good: at most count_max elements, each read by `read`.
template <typename T, typename Read>
bool read_list(Reader& in, std::vector<T>& list, std::size_t count_max, Read&& read) {
  const auto count = in.integer<std::uint16_t>();
  if (count > count_max) {
    return false;
  }
  for (std::uint16_t k = 0; k < count && in.ok(); ++k) {
    list.push_back(read(in));
  }
  return in.ok();
}

ledger::MerkleHash read_hash(Reader& in) {
  ledger::MerkleHash hash;
  in.array(hash);
  return hash;
}

void write(Writer& out, const PageMessage& m) {
  out.integer(m.batch);
  out.integer(m.old_size);
  out.integer(m.page);
  out.integer(m.page_count);
  write_count(out, m.heads, kHeadsPerPage);
  for (const ledger::ShardHead& head : m.heads) {
    write_head(out, head);
  }
}

// Every page but the last one is full, so that a place in a page is a place in the batch.
bool read(Reader& in, PageMessage& m) {
  m.batch = in.integer<std::uint64_t>();
  m.old_size = in.integer<std::uint64_t>();
  m.page = in.integer<std::uint16_t>();
  m.page_count = in.integer<std::uint16_t>();
  const bool read_all = read_list(in, m.heads, kHeadsPerPage, ledger::read_head);
  const bool placed = m.page < m.page_count && m.page_count <= kPagesMax;
  const bool full = m.heads.size() == kHeadsPerPage;
  return read_all && placed && (full || (m.page + 1 == m.page_count && !m.heads.empty()));
}

void write(Writer& out, const VerdictMessage& m) {
  out.integer(m.batch);
  out.integer(m.page);
  write_count(out, m.exceptions, kHeadsPerPage);
  for (const HeadException& each : m.exceptions) {
    out.integer(each.index);
    out.integer(static_cast<std::uint8_t>(each.verdict));
    out.array(each.root);
  }
}

bool read(Reader& in, VerdictMessage& m) {
  m.batch = in.integer<std::uint64_t>();
  m.page = in.integer<std::uint16_t>();
  bool sane = m.page < kPagesMax;
  sane &= read_list(in, m.exceptions, kHeadsPerPage, [&](Reader& each) {
    HeadException exception;
    exception.index = each.integer<std::uint16_t>();
    const auto verdict = each.integer<std::uint8_t>();
    exception.verdict = static_cast<HeadVerdict>(verdict);
    exception.root = read_hash(each);
    sane &= verdict >= static_cast<std::uint8_t>(HeadVerdict::Behind) &&
            verdict <= static_cast<std::uint8_t>(HeadVerdict::Unknown);
    sane &= exception.index < kHeadsPerPage &&
            (m.exceptions.empty() || m.exceptions.back().index < exception.index);
    return exception;
  });
  return sane;
}

void write(Writer& out, const SignatureMessage& m) {
  out.integer(m.size);
  out.array(m.root);
  out.array(m.signature);
}

bool read(Reader& in, SignatureMessage& m) {
  m.size = in.integer<std::uint64_t>();
  in.array(m.root);
  in.array(m.signature);
  return true;
}

void write(Writer& out, const LeavesQuery& m) {
  out.integer(m.from);
  out.integer(m.target);
}

bool read(Reader& in, LeavesQuery& m) {
  m.from = in.integer<std::uint64_t>();
  m.target = in.integer<std::uint64_t>();
  return m.from < m.target;
}

void write(Writer& out, const LeavesMessage& m) {
  out.integer(m.from);
  out.integer(m.target);
  write_count(out, m.proof, ledger::kProofHashesMax);
  for (const ledger::MerkleHash& hash : m.proof) {
    out.array(hash);
  }
  write_count(out, m.leaves, kLeavesPerAnswer);
  for (const ledger::ShardHead& head : m.leaves) {
    write_head(out, head);
  }
}

bool read(Reader& in, LeavesMessage& m) {
  m.from = in.integer<std::uint64_t>();
  m.target = in.integer<std::uint64_t>();
  const bool sane = read_list(in, m.proof, ledger::kProofHashesMax, read_hash) &&
                    read_list(in, m.leaves, kLeavesPerAnswer, ledger::read_head);
  return sane && m.from < m.target && !m.leaves.empty() && m.leaves.size() <= m.target - m.from;
}

void write_range(Writer& out, ShardId shard, const ledger::SubtreeRange& range) {
  out.integer(shard.value);
  out.integer(range.level);
  out.integer(range.index);
  out.integer(range.count);
}

bool read_range(Reader& in, ShardId& shard, ledger::SubtreeRange& range) {
  shard = ShardId{in.integer<std::uint32_t>()};
  range.level = in.integer<std::uint32_t>();
  range.index = in.integer<std::uint64_t>();
  range.count = in.integer<std::uint32_t>();
  return range.level < 64 && range.count > 0 && range.count <= kHashesPerAnswer;
}

void write(Writer& out, const HashQuery& m) {
  write_range(out, m.shard, m.range);
}

bool read(Reader& in, HashQuery& m) {
  return read_range(in, m.shard, m.range);
}

void write(Writer& out, const HashMessage& m) {
  write_range(out, m.shard, m.range);
  write_count(out, m.hashes, kHashesPerAnswer);
  for (const ledger::MerkleHash& hash : m.hashes) {
    out.array(hash);
  }
}

bool read(Reader& in, HashMessage& m) {
  const bool sane = read_range(in, m.shard, m.range);
  return read_list(in, m.hashes, kHashesPerAnswer, read_hash) && sane &&
         m.hashes.size() == m.range.count;
}

void write(Writer& out, const KeyMessage& m) {
  out.array(m.key);
}

bool read(Reader& in, KeyMessage& m) {
  in.array(m.key);
  return true;
}

void write(Writer& out, const AlarmMessage& m) {
  out.integer(m.shard.value);
  out.integer(m.index);
}

bool read(Reader& in, AlarmMessage& m) {
  m.shard = ShardId{in.integer<std::uint32_t>()};
  m.index = in.integer<std::uint64_t>();
  return true;
}

void write(Writer& out, const BeginMessage& m) {
  out.integer(m.target);
  write_count(out, m.proof, ledger::kProofHashesMax);
  for (const ledger::MerkleHash& hash : m.proof) {
    out.array(hash);
  }
  const std::vector<std::byte> horizon = ledger::encode(m.horizon);
  out.text({reinterpret_cast<const char*>(horizon.data()), horizon.size()});
}

bool read(Reader& in, BeginMessage& m) {
  m.target = in.integer<std::uint64_t>();
  const bool proof = read_list(in, m.proof, ledger::kProofHashesMax, read_hash);
  const std::string_view bytes = in.text(kPeerMessageBytesMax);
  auto horizon = ledger::decode_horizon(std::as_bytes(std::span(bytes)));
  if (!proof || !horizon) {
    return false;
  }
  m.horizon = *std::move(horizon);
  return m.horizon.first != 0 && m.horizon.first < m.target;
}

template <typename T>
std::optional<PublicationMessage> decode_as(Reader& in) {
  T message;
  const bool sane = read(in, message);
  return sane && in.complete() ? std::optional<PublicationMessage>(std::move(message))
                               : std::nullopt;
}

template <std::size_t... kKinds>
std::optional<PublicationMessage> decode_kind(std::size_t kind,
                                              Reader& in,
                                              std::index_sequence<kKinds...>) {
  std::optional<PublicationMessage> message;
  const auto take = [&]<std::size_t kKind>() {
    if (kind == kKind) {
      message = decode_as<std::variant_alternative_t<kKind, PublicationMessage>>(in);
    }
  };
  (take.template operator()<kKinds>(), ...);
  return message;
}

}  // namespace

bool begin_fits(const ledger::ClusterHorizon& horizon) {
  constexpr std::size_t kRest =
      kHeadBytes + 8 + 2 + ledger::kProofHashesMax * ledger::kMerkleHashBytes + 2;
  return ledger::encode(horizon).size() <= kPeerMessageBytesMax - kRest;
}

std::vector<std::byte> encode(const PublicationMessage& message) {
  std::vector<std::byte> bytes(kHeadBytes);
  Writer out(bytes);
  std::visit([&](const auto& each) { write(out, each); }, message);
  bytes[0] = kPublicationKind;
  bytes[1] = static_cast<std::byte>(message.index() + 1);
  store(&bytes[4], crc32c(std::span(bytes).subspan(kHeadBytes)));
  GCOORD_ASSERT(bytes.size() <= kPeerMessageBytesMax);
  return bytes;
}

std::optional<PublicationMessage> decode_publication_message(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes || bytes.size() > kPeerMessageBytesMax ||
      bytes[0] != kPublicationKind || bytes[2] != std::byte{0} || bytes[3] != std::byte{0}) {
    return std::nullopt;
  }
  const auto body = bytes.subspan(kHeadBytes);
  if (load<std::uint32_t>(&bytes[4]) != crc32c(body)) {
    return std::nullopt;
  }
  Reader in(body);
  const auto kind = std::to_integer<std::size_t>(bytes[1]);
  return decode_kind(
      kind - 1, in, std::make_index_sequence<std::variant_size_v<PublicationMessage>>());
}

}  // namespace gcoord::server
