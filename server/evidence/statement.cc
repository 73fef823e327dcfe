#include "server/evidence/statement.h"

#include "common/assert.h"
#include "common/bytes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace gcoord::server {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kEd25519 = 1;
constexpr std::string_view kPurpose = "gcoord vote grants 1\n";

std::string signed_text(std::span<const std::byte> unsigned_bytes) {
  std::string text{kPurpose};
  text.append(reinterpret_cast<const char*>(unsigned_bytes.data()), unsigned_bytes.size());
  return text;
}

}  // namespace

bool VoteStatement::grants_vote(const VoteGrant& of) const {
  return std::ranges::find(grants, of) != grants.end();
}

std::vector<std::byte> sign_statement(const VoteStatement& statement,
                                      const ledger::NoteSigner& signer) {
  const std::size_t count = statement.grants.size();
  GCOORD_ASSERT(count > 0 && count <= kStatementGrantsMax);
  std::vector<std::byte> bytes;
  bytes.reserve(kStatementHeadBytes + count * kStatementGrantBytes + ledger::kNoteSignatureBytes);
  ByteWriter writer(bytes);
  writer.integer(kVersion);
  writer.integer(kEd25519);
  writer.integer(static_cast<std::uint16_t>(count));
  writer.integer(statement.cluster.value);
  writer.integer(statement.voter.value);
  writer.integer(statement.life.value);
  writer.integer(statement.candidate.value);
  GCOORD_ASSERT(bytes.size() == kStatementHeadBytes);
  for (const VoteGrant& grant : statement.grants) {
    writer.integer(grant.shard.value);
    writer.integer(grant.term.value);
  }
  writer.array(signer.sign(signed_text(bytes)));
  return bytes;
}

std::optional<VoteStatement> decode_statement(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto version = reader.integer<std::uint8_t>();
  const auto algorithm = reader.integer<std::uint8_t>();
  const std::size_t count = reader.integer<std::uint16_t>();
  VoteStatement statement;
  statement.cluster = ClusterId{reader.integer<std::uint64_t>()};
  statement.voter = NodeId{reader.integer<std::uint32_t>()};
  statement.life = Incarnation{reader.integer<std::uint32_t>()};
  statement.candidate = NodeId{reader.integer<std::uint32_t>()};
  const bool sized = bytes.size() == kStatementHeadBytes + count * kStatementGrantBytes +
                                         ledger::kNoteSignatureBytes;
  if (version != kVersion || algorithm != kEd25519 || count == 0 || count > kStatementGrantsMax ||
      !sized || statement.voter.value == 0 || statement.life.value == 0 ||
      statement.candidate.value == 0 || statement.voter == statement.candidate) {
    return std::nullopt;
  }
  statement.grants.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    const ShardId shard{reader.integer<std::uint32_t>()};
    const Term term{reader.integer<std::uint64_t>()};
    if (term.value == 0) {
      return std::nullopt;
    }
    statement.grants.push_back({shard, term});
  }
  return statement;
}

bool statement_genuine(std::span<const std::byte> bytes, const ledger::NoteKey& key) {
  if (bytes.size() <= ledger::kNoteSignatureBytes) {
    return false;
  }
  const std::size_t length = bytes.size() - ledger::kNoteSignatureBytes;
  return key.verifies(signed_text(bytes.first(length)), bytes.subspan(length));
}

}  // namespace gcoord::server
