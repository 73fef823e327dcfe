// Publication messages and entries as somebody who is not trusted may write them, and a node that
// is told them. A message of the right form is decoded, encoded again and must be the same bytes.
#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/host/metrics.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/publication/publication.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::server;  // NOLINT

constexpr std::size_t kHeadBytes = 8;

// A node that has a little of everything and believes what it may.
class LonePort final : public PublicationPort {
 public:
  LonePort() {
    for (int k = 0; k < 300; ++k) {
      shard_->append(ledger::encode_head({}));
    }
  }

  void send(NodeId, std::vector<std::byte> message) override {
    GCOORD_ASSERT(decode_publication_message(message));
  }

  void propose(std::vector<std::byte> entry) override {
    GCOORD_ASSERT(decode_publication_entry(entry));
  }

  std::shared_ptr<const ledger::TreeReader> tree(ShardId) override { return shard_; }

  Result<std::vector<ledger::ShardHead>> heads(std::span<const ShardId> shards) override {
    std::vector<ledger::ShardHead> heads;
    for (const ShardId shard : shards) {
      heads.push_back({shard, 300, ledger::root_at(*shard_, 300).value()});
    }
    return heads;
  }

  const ledger::TreeReader& cluster_log() const override { return log_; }

  Status append_leaves(std::span<const ledger::ShardHead> leaves) override {
    for (const ledger::ShardHead& head : leaves) {
      log_.append(ledger::encode_head(head));
    }
    return Status{};
  }

  Result<std::uint64_t> prune_leaves(std::uint64_t) override { return std::uint64_t{0}; }

  ledger::ClusterHorizon horizon() const override { return {}; }

  Status begin_log_at(const ledger::ClusterHorizon& horizon) override {
    GCOORD_ASSERT(ledger::sane(horizon) && horizon.first > log_.size());
    return Status{};
  }

  Result<LedgerSignature> sign(std::uint64_t, const ledger::MerkleHash&) override {
    return LedgerSignature{};
  }

  bool genuine(NodeId, const SignatureMessage&) override { return true; }

  std::uint64_t now_ms() const override { return now; }

  void on_published(const PublishedLog&) override {}

  void on_refusal(const Status&) override {}

  void on_alarm(const HistoryAlarm&) override {}

  void quarantine(std::span<const HistoryAlarm>) override {}

  // Nothing that a peer says may stop a node.
  void on_failure(const Status&) override { GCOORD_ASSERT(false); }

  std::uint64_t now = 0;

 private:
  std::shared_ptr<ledger::MemoryTree> shard_ = std::make_shared<ledger::MemoryTree>();
  ledger::MemoryTree log_;
};

void tell(std::span<const std::byte> message, std::uint64_t now_ms) {
  LonePort port;
  MetricsRegistry metrics;
  Publication publication({.self = NodeId{1},
                           .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                           .shard_count = 8,
                           .incarnation = Incarnation{1}},
                          port,
                          metrics);
  GCOORD_ASSERT(publication.start().ok());
  PublicationState state;
  const ledger::ShardHead head{ShardId{1}, 1, {}};
  const auto leaf = ledger::hash_leaf(ledger::encode_head(head));
  GCOORD_ASSERT(state.apply(RoundEntry{1, 0, leaf, {head}}));
  publication.on_state(state);
  publication.touch(ShardId{3}, 300, now_ms);
  publication.on_role(true);
  for (const std::uint64_t at : {now_ms, now_ms + 200}) {
    port.now = at;
    publication.on_message(NodeId{2}, message, at);
    publication.advance(at);
  }
}

FuzzInput input_of(const std::vector<std::byte>& bytes) {
  FuzzInput input(bytes.size());
  std::ranges::transform(
      bytes, input.begin(), [](std::byte each) { return std::to_integer<std::uint8_t>(each); });
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  std::vector<std::byte> message(byte_count);
  std::transform(bytes, bytes + byte_count, message.begin(), [](std::uint8_t each) {
    return std::byte{each};
  });
  if (const auto entry = decode_publication_entry(message)) {
    GCOORD_ASSERT(encode(*entry) == message);
    PublicationState state;
    state.apply(*entry);
  }
  if (const auto state = PublicationState::parse(message)) {
    std::vector<std::byte> again;
    state->serialize(again);
    GCOORD_ASSERT(again == message);
  }
  if (message.size() < kHeadBytes) {
    return 0;
  }
  // A checksum that fits, or nothing behind it would ever be read.
  store(&message[4], crc32c(std::span(message).subspan(kHeadBytes)));
  if (const auto decoded = decode_publication_message(message)) {
    GCOORD_ASSERT(encode(*decoded) == message);
  }
  tell(message, 5);
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const std::vector<ledger::ShardHead> heads(2);
  const std::vector<ledger::MerkleHash> hashes(2);
  return {input_of(encode(PublicationMessage{PageMessage{9, 0, 0, 1, heads}})),
          input_of(encode(PublicationMessage{
              VerdictMessage{std::uint64_t{1} << 32u | 1, 0, {{0, HeadVerdict::Differs, {}}}}})),
          input_of(encode(PublicationMessage{SignatureMessage{9, {}, {}}})),
          input_of(encode(PublicationMessage{LeavesQuery{0, 9}})),
          input_of(encode(PublicationMessage{LeavesMessage{0, 9, hashes, heads}})),
          input_of(encode(PublicationMessage{HashQuery{ShardId{1}, {8, 0, 1}}})),
          input_of(encode(PublicationMessage{HashMessage{ShardId{1}, {0, 0, 2}, hashes}})),
          input_of(encode(PublicationMessage{KeyMessage{}})),
          input_of(encode(PublicationMessage{AlarmMessage{ShardId{1}, 3}})),
          input_of(encode(PublicationEntry{RoundEntry{1, 0, {}, {{}}}})),
          input_of(encode(PublicationEntry{KeyEntry{NodeId{3}, {}}}))};
}
