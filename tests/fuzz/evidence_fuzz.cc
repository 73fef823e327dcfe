// Signed votes as a node may send them, and evidence as somebody may hand it in.
//
// Whatever decodes is kept in a table whose bounds hold, and nothing that was changed is evidence.
#include "server/evidence/double_vote.h"
#include "server/evidence/vote_table.h"
#include "tests/fuzz/fuzz_test_main.h"
#include "tests/server/evidence/statements.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::server;  // NOLINT

constexpr std::uint32_t kShardCount = 16;
constexpr std::size_t kBytesMax = 4000;

std::vector<std::byte> statement_for(NodeId candidate) {
  return signed_by_voter(statement_of(NodeId{3}, candidate, {vote(1, 4), vote(2, 4), vote(3, 9)}));
}

const std::string& evidence_text() {
  static const std::string text =
      print_evidence(judge_votes({statement_for(NodeId{1}), statement_for(NodeId{2})},
                                 vote(2, 4),
                                 signer_of(NodeId{3}).key())
                         .value());
  return text;
}

void keep(const VoteMessage& message) {
  static VoteTable table(
      {.shard_count = kShardCount, .bytes_max = kBytesMax, .voter_bytes_max = kBytesMax / 2});
  const bool fits = std::ranges::all_of(message.statement.grants, [](const VoteGrant& grant) {
    return grant.shard.value < kShardCount;
  });
  if (!fits) {
    return;
  }
  const auto added = table.add(message.statement, message.bytes);
  for (const VoteGrant& grant : message.statement.grants) {
    for (const VoteTable::Number number : table.meet(grant, message.statement.candidate)) {
      table.set_shown(number, message.statement.candidate);
    }
  }
  GCOORD_ASSERT(table.bytes() <= kBytesMax + kStatementBytesMax);
  GCOORD_ASSERT(added.number == 0 || !table.bytes_of(added.number).empty());
}

FuzzInput to_input(std::span<const std::byte> bytes) {
  FuzzInput input(bytes.size());
  std::memcpy(input.data(), bytes.data(), bytes.size());
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::span<const std::byte> input{reinterpret_cast<const std::byte*>(bytes), byte_count};
  if (const auto message = decode_vote_message(input)) {
    keep(*message);
  }
  const std::string_view text{reinterpret_cast<const char*>(bytes), byte_count};
  if (const auto evidence = parse_evidence(text); evidence.ok()) {
    // Nobody here has another key, so it can name another of the three votes and nothing else.
    GCOORD_ASSERT(print_evidence(evidence.value()) == text);
    GCOORD_ASSERT(evidence.value().shown.voter == NodeId{3});
    GCOORD_ASSERT(evidence.value().statements[0] == statement_for(NodeId{1}));
  }
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  for (const auto kind : {VoteMessageKind::Granted, VoteMessageKind::Shown}) {
    seeds.push_back(to_input(encode_vote_message(kind, statement_for(NodeId{1}))));
  }
  seeds.push_back(to_input(std::as_bytes(std::span(evidence_text()))));
  return seeds;
}
