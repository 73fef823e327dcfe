// A ledger in memory: some shards, the cluster log over their heads, and nodes that sign. What real
// nodes keep and agree on, without nodes.
#pragma once

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/note_key.h"
#include "ledger/notes/shard_note.h"
#include "ledger/notes/signed_note.h"
#include "locks/commands/command.h"
#include "server/interfaces/ledger_view.h"
#include "server/interfaces/log_record.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {

class FakeLedger final : public LedgerView {
 public:
  static constexpr std::uint64_t kCluster = 77;

  explicit FakeLedger(std::uint32_t shards, std::uint32_t nodes = 3) {
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      shards_.push_back(std::make_shared<ledger::MemoryTree>());
    }
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      ledger::NoteSeed seed{};
      seed.fill(static_cast<std::byte>(node));
      signers_.push_back(
          ledger::NoteSigner::make(ledger::node_key_name(kCluster, node), seed).value());
    }
  }

  // An acquire and its release, by turns.
  void append(std::uint32_t shard, std::size_t count) {
    ledger::MemoryTree& tree = *shards_[shard];
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint64_t index = tree.size();
      const auto header = encode_record_header({.kind = RecordKind::LockCommand,
                                                .origin = protocol::RecordOrigin::Loopback,
                                                .time_ms = 1'700'000'000'000 + index});
      std::vector<std::byte> record(header.begin(), header.end());
      const std::string name = "lock-" + std::to_string(index / 2);
      const auto session = SessionId{shard + 1};
      const auto sequence = RequestSequence{index + 1};
      locks::encode(index % 2 == 0 ? locks::make_acquire({.session = session,
                                                          .sequence = sequence,
                                                          .acked_below = sequence,
                                                          .name = name,
                                                          .ttl_ms = 5000})
                                   : locks::make_release({.session = session,
                                                          .sequence = sequence,
                                                          .acked_below = sequence,
                                                          .name_hash = hash_name(name),
                                                          .token = FencingToken{index}}),
                    record);
      tree.append(record);
    }
  }

  // Puts the heads of all shards with entries that are new into the cluster log, and signs it.
  void publish() {
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard) {
      const ledger::MemoryTree& tree = *shards_[shard];
      if (tree.size() == 0 || (heads_.contains(shard) && heads_[shard].head.size == tree.size())) {
        continue;
      }
      const ledger::ShardHead head{
          ShardId{shard}, tree.size(), ledger::root_at(tree, tree.size()).value()};
      heads_[shard] = {head, cluster_->size()};
      cluster_->append(ledger::encode_head(head));
    }
    published_ = cluster_->size();
  }

  const std::vector<ledger::NoteSigner>& signers() const { return signers_; }

  ledger::MemoryTree& tree(std::uint32_t shard) { return *shards_[shard]; }

  std::uint32_t shard_count() const override { return static_cast<std::uint32_t>(shards_.size()); }

  std::shared_ptr<const ledger::TreeReader> shard(ShardId shard) const override {
    return shards_[shard.value];
  }

  std::shared_ptr<const ledger::TreeReader> cluster_log() const override { return cluster_; }

  Result<std::string> checkpoint() const override {
    if (published_ == 0) {
      return none();
    }
    return signed_by(signers_,
                     {.origin = ledger::cluster_origin(kCluster),
                      .size = published_,
                      .root = ledger::root_at(*cluster_, published_).value()});
  }

  Result<std::string> shard_checkpoint(ShardId shard) const override {
    const auto found = heads_.find(shard.value);
    if (found == heads_.end()) {
      return none();
    }
    return signed_by(
        {signers_.front()},
        ledger::shard_checkpoint(kCluster, found->second.head, {found->second.leaf, published_}));
  }

  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const ledger::NoteSigner& signer : signers_) {
      keys.push_back(signer.key().text());
    }
    return keys;
  }

  static std::string signed_by(const std::vector<ledger::NoteSigner>& signers,
                               const ledger::CheckpointNote& checkpoint) {
    ledger::SignedNote note{.text = ledger::checkpoint_text(checkpoint)};
    for (const ledger::NoteSigner& signer : signers) {
      note.signatures.push_back(ledger::sign_note(signer, note.text));
    }
    return ledger::print_note(note);
  }

 private:
  struct Published {
    ledger::ShardHead head;
    std::uint64_t leaf = 0;
  };

  static Status none() {
    return Status{StatusCode::NotFound, "nothing is published yet", ledger::kLedgerAbsent};
  }

  std::vector<std::shared_ptr<ledger::MemoryTree>> shards_;
  std::shared_ptr<ledger::MemoryTree> cluster_ = std::make_shared<ledger::MemoryTree>();
  std::vector<ledger::NoteSigner> signers_;
  std::map<std::uint32_t, Published> heads_;
  std::uint64_t published_ = 0;
};

}  // namespace gcoord::server
