// Publications of a few nodes in one process: logs that only grow, a network that loses, a disk per
// node, and a judge who has seen everything.
//
// Time is a number. The shards' logs are the world's: each node applies them at its own pace, and
// may be made to apply another entry than the others. Who leads shard 0 is the test's to say.
#pragma once

#include "common/host/metrics.h"
#include "common/random.h"
#include "ledger/base/error_details.h"
#include "ledger/cluster/cluster_log.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/publication/publication.h"
#include "tests/ledger/publication/publication_trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

struct PublicationWorldOptions {
  std::uint32_t node_count = 3;
  std::uint32_t shard_count = 4;
  std::uint64_t seed = 1;
  std::uint32_t loss_percent = 0;
  std::uint32_t lag_percent = 0;  // How often a node applies nothing in a step.
  std::size_t round_heads_max = kHeadsPerRoundMax;
  std::size_t entry_heads_max = kHeadsPerEntryMax;
  std::size_t entries_under_way = PublicationOptions{}.entries_under_way;
  bool shrinks_lost_entries = false;
  ledger::KeepPolicy keep;
  std::uint64_t stale_window = 0;
};

class PublicationWorld {
 public:
  static constexpr std::uint64_t kStepMs = 5;
  static constexpr std::uint64_t kSegmentLeaves = 256;  // Of the nodes' cluster logs.

  struct SignedLog {
    std::uint64_t size = 0;
    ledger::MerkleHash root{};
  };

  // What a node keeps over a restart, and the publication that runs on it.
  class Node final : public PublicationPort {
   public:
    Node(PublicationWorld& world, NodeId id) : world_(world), id_(id) {
      trees.resize(world.options_.shard_count);
      for (auto& tree : trees) {
        tree = std::make_shared<ledger::MemoryTree>();
      }
    }

    void start() {
      ++life_;
      registry_ = std::make_unique<MetricsRegistry>();
      publication = std::make_unique<Publication>(
          PublicationOptions{.self = id_,
                             .nodes = world_.nodes_,
                             .shard_count = world_.options_.shard_count,
                             .incarnation = Incarnation{life_},
                             .key = key(),
                             .signed_size = last_signed.size,
                             .round_heads_max = world_.options_.round_heads_max,
                             .entry_heads_max = world_.options_.entry_heads_max,
                             .entries_under_way = world_.options_.entries_under_way,
                             .shrinks_lost_entries = world_.options_.shrinks_lost_entries,
                             .keep = world_.options_.keep,
                             .stale_window = world_.options_.stale_window},
          *this,
          *registry_);
      ASSERT_TRUE(publication->start().ok());
      for (std::uint32_t shard = 0; shard < trees.size(); ++shard) {
        publication->touch(ShardId{shard}, trees[shard]->size(), world_.now_ms() + 1);
      }
      publication->on_state(state);
      publication->on_role(leads);
    }

    void stop() { publication.reset(); }

    LedgerKey key() const {
      LedgerKey made{};
      made[0] = static_cast<std::byte>(id_.value);
      made[1] = std::byte{0x5e};
      return made;
    }

    std::uint64_t counter(const std::string& name) const {
      return registry_->counter({"gcoord_server_publication_" + name, "", "", ""}).value();
    }

    // PublicationPort.
    std::uint64_t now_ms() const override { return world_.now_ms(); }

    void send(NodeId to, Bytes message) override { world_.post(id_, to, std::move(message)); }

    void propose(Bytes entry) override { world_.propose(id_, std::move(entry)); }

    std::shared_ptr<const ledger::TreeReader> tree(ShardId shard) override {
      if (damaged.contains(shard.value)) {
        return std::make_shared<DamagedTree>(trees[shard.value]->size());
      }
      return std::make_shared<BehindTree>(trees[shard.value], behind_entries);
    }

    Result<std::vector<ledger::ShardHead>> heads(std::span<const ShardId> shards) override {
      return heads_in(trees, shards, behind_entries);
    }

    const ledger::TreeReader& cluster_log() const override { return *log; }

    Status append_leaves(std::span<const ledger::ShardHead> leaves) override {
      return log->append(leaves);
    }

    // As ledger::prune_bound.
    Result<std::uint64_t> prune_leaves(std::uint64_t wanted) override {
      const std::uint64_t end = wanted - wanted % kSegmentLeaves;
      if (end > log->first() && last_signed.size != 0 && last_signed.size < end) {
        EXPECT_EQ(ledger::root_at(*log, last_signed.size).value(), last_signed.root);
        last_signed = {end, ledger::root_at(*log, end).value()};
      }
      return log->prune(wanted);
    }

    ledger::ClusterHorizon horizon() const override { return log->horizon(); }

    Status begin_log_at(const ledger::ClusterHorizon& horizon) override {
      return log->begin_at(horizon);
    }

    Result<LedgerSignature> sign(std::uint64_t size, const ledger::MerkleHash& root) override {
      if (size < last_signed.size) {
        return Status{StatusCode::FailedPrecondition, "behind", ledger::kSignerBehind};
      }
      const bool continues = last_signed.size == 0 ||
                             ledger::root_at(*log, last_signed.size).value() == last_signed.root;
      if (!continues) {
        return Status{StatusCode::DataLoss, "another", ledger::kSignerContradiction};
      }
      last_signed = {size, root};
      world_.on_signed(last_signed);
      return signature(key(), size, root);
    }

    bool genuine(NodeId node, const SignatureMessage& message) override {
      const auto known = state.keys().find(node);
      return known != state.keys().end() &&
             message.signature == signature(known->second, message.size, message.root);
    }

    void on_published(const PublishedLog& published) override {
      EXPECT_GE(published.size, newest.size);
      EXPECT_GE(published.signatures.size(), world_.nodes_.size() / 2 + 1);
      world_.on_signed({published.size, published.root});
      newest = published;
    }

    void on_refusal(const Status& why) override { refusal = why; }

    void on_alarm(const HistoryAlarm& alarm) override { alarms.push_back(alarm); }

    void quarantine(std::span<const HistoryAlarm> shards) override {
      quarantined.assign(shards.begin(), shards.end());
    }

    void on_failure(const Status& why) override { failure = why; }

    std::vector<std::shared_ptr<ledger::MemoryTree>> trees;
    std::set<std::uint32_t> damaged;   // Shards whose trees cannot be read.
    std::uint64_t behind_entries = 0;  // That its trees lack, of each shard.
    std::uint64_t late_ms = 0;         // By which all that it is told comes later.
    ledger::MemoryDisk disk;
    std::unique_ptr<ledger::ClusterLog> log =
        ledger::ClusterLog::open(disk, 0, kSegmentLeaves).value();
    SignedLog last_signed;
    PublicationState state;
    bool leads = false;
    bool told_lost = false;
    PublishedLog newest;
    Status refusal;
    Status failure;
    std::vector<HistoryAlarm> alarms;
    std::vector<HistoryAlarm> quarantined;
    std::map<std::pair<std::uint32_t, std::uint64_t>, Bytes> applies_instead;
    std::unique_ptr<Publication> publication;

   private:
    // Stands for Ed25519: nobody but the key's owner makes it.
    static LedgerSignature signature(const LedgerKey& key,
                                     std::uint64_t size,
                                     const ledger::MerkleHash& root) {
      Bytes text(key.begin(), key.end());
      text.insert(text.end(), root.begin(), root.end());
      const Bytes number = bytes_of(std::to_string(size));
      text.insert(text.end(), number.begin(), number.end());
      const ledger::MerkleHash hash = ledger::hash_leaf(text);
      LedgerSignature made{};
      std::ranges::copy(hash, made.begin());
      return made;
    }

    PublicationWorld& world_;
    NodeId id_;
    std::uint32_t life_ = 0;
    std::unique_ptr<MetricsRegistry> registry_;
  };

  explicit PublicationWorld(const PublicationWorldOptions& options)
      : options_(options), decided_(options.shard_count) {
    for (std::uint32_t id = 1; id <= options.node_count; ++id) {
      nodes_.push_back(NodeId{id});
    }
    for (const NodeId id : nodes_) {
      all_.push_back(std::make_unique<Node>(*this, id));
      all_.back()->start();
    }
  }

  Node& node(std::uint32_t id) { return *all_[id - 1]; }

  std::vector<std::unique_ptr<Node>>& all() { return all_; }

  // Only this node leads shard 0, and knows it; the others know that they do not.
  void lead(std::uint32_t id) {
    leader_ = id;
    for (std::uint32_t each = 1; each <= all_.size(); ++each) {
      believe(each, each == id);
    }
  }

  void believe(std::uint32_t id, bool leads) {
    node(id).leads = leads;
    if (node(id).publication) {
      node(id).publication->on_role(leads);
    }
  }

  // Proposals of anybody reach the log, as if leaderships changed behind their backs.
  void let_everybody_propose() { anybody_proposes_ = true; }

  void decide(std::uint32_t shard, const std::string& command) {
    decided_[shard].push_back({bytes_of(command), false});
  }

  // The log of shard 0 has room for rounds' entries of so many heads, for no larger ones.
  void take_heads(std::size_t most) { taken_heads_max_ = most; }

  // Nothing reaches the node any more, nor leaves it, nor is decided with it.
  void cut(std::uint32_t id) { cut_.insert(id); }

  void mend(std::uint32_t id) { cut_.erase(id); }

  // The node stops, and comes back with what another one has come to, but for the cluster log.
  void take_snapshot(std::uint32_t id, std::uint32_t from) {
    node(id).stop();
    for (std::uint32_t shard = 0; shard < decided_.size(); ++shard) {
      auto tree = std::make_shared<ledger::MemoryTree>();
      for (std::uint64_t at = 0; at < node(from).trees[shard]->size(); ++at) {
        tree->append(node(from).trees[shard]->entries(at, 1).value().front());
      }
      node(id).trees[shard] = std::move(tree);
    }
    node(id).state = node(from).state;
    node(id).start();
  }

  // Flips one bit of every message of so many.
  void flip_messages(std::uint64_t count) { flips_ = count; }

  void run(std::uint64_t ms) {
    for (const std::uint64_t end = now_ms_ + ms; now_ms_ < end;) {
      step();
    }
  }

  // Runs until everything that is decided is under a published log on every running node, or for
  // `ms`. Returns how long it took.
  std::optional<std::uint64_t> settle(std::uint64_t ms) {
    const std::uint64_t begin = now_ms_;
    while (now_ms_ < begin + ms) {
      step();
      if (settled()) {
        return now_ms_ - begin;
      }
    }
    return std::nullopt;
  }

  // Whether the newest published log of each running node has all that is decided, but for
  // publication entries at the end of shard 0.
  bool settled() {
    return std::ranges::all_of(all_, [this](const auto& each) {
      return each->publication == nullptr || covers_all(*each);
    });
  }

  // The leaves that the log of shard 0 put in order, as its first publisher had them.
  const ledger::MemoryTree& reference() const { return reference_; }

  std::uint64_t now_ms() const { return now_ms_; }

  std::uint64_t rounds_taken() const { return rounds_taken_; }

  std::uint64_t rounds_refused() const { return rounds_refused_; }

 private:
  struct Decided {
    Bytes payload;
    bool publication = false;
  };

  struct Letter {
    std::uint64_t due_ms = 0;
    NodeId from;
    NodeId to;
    Bytes message;
  };

  std::uint32_t draw(std::uint32_t bound) {
    return random_below(random64(options_.seed, 7, ++draws_), bound);
  }

  void post(NodeId from, NodeId to, Bytes message) {
    const bool cut = cut_.contains(from.value) || cut_.contains(to.value);
    if (cut || draw(100) < options_.loss_percent) {
      return;
    }
    if (flips_ > 0) {
      --flips_;
      message[draw(static_cast<std::uint32_t>(message.size()))] ^= std::byte{1} << draw(8);
    }
    const std::uint64_t due_ms = now_ms_ + 1 + draw(10) + node(to.value).late_ms;
    letters_.push_back({due_ms, from, to, std::move(message)});
  }

  void propose(NodeId from, Bytes entry) {
    const bool lost = cut_.contains(from.value) || draw(100) < options_.loss_percent ||
                      heads_in_entry(entry) > taken_heads_max_;
    if (!lost && (anybody_proposes_ || from.value == leader_)) {
      note_round(entry);
      decided_[0].push_back({std::move(entry), true});
    } else if (draw(8) != 0) {
      node(from.value).told_lost = true;  // Else nobody hears of it.
    }
  }

  static std::size_t heads_in_entry(const Bytes& bytes) {
    const auto entry = decode_publication_entry(bytes);
    const auto* round = entry ? std::get_if<RoundEntry>(&*entry) : nullptr;
    return round == nullptr ? 0 : round->heads.size();
  }

  // The judge's own copy of the state, and of the leaves.
  void note_round(const Bytes& bytes) {
    const auto entry = decode_publication_entry(bytes);
    ASSERT_TRUE(entry);
    const bool round = std::holds_alternative<RoundEntry>(*entry);
    if (state_.apply(*entry) && round) {
      ++rounds_taken_;
    } else if (round) {
      ++rounds_refused_;
    }
  }

  // No root that was ever signed or published is contradicted: sizes have one root, and each is the
  // beginning of the next.
  void on_signed(const SignedLog& log) {
    const auto [known, fresh] = roots_.emplace(log.size, log.root);
    EXPECT_EQ(known->second, log.root) << "two roots of size " << log.size;
  }

  void step() {
    now_ms_ += kStepMs;
    for (std::uint32_t id = 1; id <= all_.size(); ++id) {
      if (node(id).publication && !cut_.contains(id) && draw(100) >= options_.lag_percent) {
        apply(node(id));
      }
    }
    deliver();
    for (auto& each : all_) {
      if (each->publication && std::exchange(each->told_lost, false)) {
        each->publication->on_proposal_lost();
      }
      if (each->publication && now_ms_ >= each->publication->next_due_ms()) {
        each->publication->advance(now_ms_);
        judge(*each);
      }
    }
  }

  void apply(Node& node) {
    for (std::uint32_t shard = 0; shard < decided_.size(); ++shard) {
      while (node.trees[shard]->size() < decided_[shard].size()) {
        const std::uint64_t index = node.trees[shard]->size();
        const Decided& entry = decided_[shard][index];
        const auto other = node.applies_instead.find({shard, index});
        node.trees[shard]->append(other != node.applies_instead.end() ? other->second
                                                                      : entry.payload);
        if (!entry.publication) {
          node.publication->touch(ShardId{shard}, index + 1, now_ms_);
        } else if (const auto decoded = decode_publication_entry(entry.payload)) {
          const auto* round = std::get_if<RoundEntry>(&*decoded);
          if (node.state.apply(*decoded) && round != nullptr) {
            node.publication->on_round(*round);
          }
          node.publication->on_state(node.state);
        }
      }
    }
  }

  void deliver() {
    std::vector<Letter> due;
    std::erase_if(letters_, [&](Letter& each) {
      const bool now = each.due_ms <= now_ms_;
      if (now) {
        due.push_back(std::move(each));
      }
      return now;
    });
    for (const Letter& letter : due) {
      if (node(letter.to.value).publication) {
        node(letter.to.value).publication->on_message(letter.from, letter.message, now_ms_);
      }
    }
  }

  // What a node has of the cluster log is what every other has, as far as both go.
  void judge(const Node& node) {
    for (std::uint64_t at = std::max(judged_[&node], node.log->first()); at < node.log->size();
         ++at) {
      const Bytes leaf = node.log->entries(at, 1).value().front();
      if (at == reference_.size()) {
        reference_.append(leaf);
      }
      EXPECT_EQ(leaf, reference_.entries(at, 1).value().front()) << "leaf " << at;
    }
    judged_[&node] = node.log->size();
  }

  bool covers_all(const Node& node) const {
    std::vector<std::uint64_t> covered(decided_.size());
    for (std::uint64_t at = node.log->first(); at < std::min(node.newest.size, node.log->size());
         ++at) {
      const auto head = ledger::decode_head(node.log->entries(at, 1).value().front()).value();
      covered[head.shard.value] = head.size;
    }
    for (std::uint32_t shard = 0; shard < decided_.size(); ++shard) {
      std::uint64_t wanted = decided_[shard].size();
      while (wanted > 0 && decided_[shard][wanted - 1].publication) {
        --wanted;
      }
      if (covered[shard] < wanted) {
        return false;
      }
    }
    return true;
  }

  PublicationWorldOptions options_;
  std::vector<NodeId> nodes_;
  std::vector<std::vector<Decided>> decided_;
  std::vector<std::unique_ptr<Node>> all_;
  std::vector<Letter> letters_;
  std::set<std::uint32_t> cut_;
  PublicationState state_;
  ledger::MemoryTree reference_;
  std::map<const Node*, std::uint64_t> judged_;
  std::map<std::uint64_t, ledger::MerkleHash> roots_;
  std::uint32_t leader_ = 1;
  bool anybody_proposes_ = false;
  std::size_t taken_heads_max_ = kHeadsPerEntryMax;
  std::uint64_t flips_ = 0;
  std::uint64_t draws_ = 0;
  std::uint64_t now_ms_ = 0;
  std::uint64_t rounds_taken_ = 0;
  std::uint64_t rounds_refused_ = 0;
};

}  // namespace gcoord::server
