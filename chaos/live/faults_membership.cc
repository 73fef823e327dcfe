// Nodes that lose what they had and come back as learners, then voters, of every shard: --rejoin
// (docs/adr/0025). The run waits after the strike until each of them is at full strength. And nodes
// that come and go by the cluster view (docs/adr/0106 and after).
#include "chaos/live/bit_flip.h"
#include "chaos/live/fault.h"
#include "chaos/process/newcomer.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace gcoord::chaos {

namespace {

namespace fs = std::filesystem;

// A node that opens a rotten directory has to say so within this.
constexpr std::chrono::seconds kOpensWithin{20};

constexpr std::uint32_t kFlipsMax = 4;

// Tables first, since a store does not miss what rots in its notes and in the tail of its log.
std::vector<fs::path> files_that_matter(const fs::path& folder) {
  const std::vector<fs::path> all = files_in(folder);
  std::vector<fs::path> tables;
  std::copy_if(all.begin(), all.end(), std::back_inserter(tables), [](const fs::path& file) {
    return file.extension() == ".sst";
  });
  return tables.empty() ? all : tables;
}

// An empty disk in the place of a node's. Nothing of the old one comes back.
class Membership final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const std::uint32_t node = world.claim(draw, 1).front();
    world.cluster.kill(node);
    std::error_code failed;
    fs::remove_all(world.shim(node).disk(), failed);
    if (failed) {
      return Status{StatusCode::Unavailable, "cannot empty a disk: " + failed.message()};
    }
    GCOORD_TRY_STATUS(clear_undo(world.shim(node).undo()));
    world.cluster.lose_memory(node);
    GCOORD_TRY_STATUS(world.start({node}));
    return name_nodes({node}) + " rejoins every shard with an empty disk";
  }

  // What else strikes says how long.
  std::chrono::milliseconds hold(Draw&) override { return std::chrono::milliseconds{0}; }

  Result<std::string> heal(LiveWorld& world) override {
    GCOORD_TRY_STATUS(world.start(world.cluster.rejoining()));
    return std::string{};
  }

  std::uint64_t felt() const override { return 1; }
};

// Two nodes at once, one with rot in its log, the other in its checkpoints. Who refuses to start
// rejoins; of who does not, the bits are put back, as for any rot that nobody noticed.
class TwoCorrupt final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    std::vector<std::string> folders = {"wal", "checkpoint"};
    std::string what = "bits flipped in";
    for (const std::uint32_t node : world.claim(draw, std::min(2u, world.minority()))) {
      world.cluster.kill(node);
      // Nothing is owed to the old directory any more: what its peers have is what counts.
      GCOORD_TRY_STATUS(clear_undo(world.shim(node).undo()));
      rotten_.push_back({.node = node});
      const fs::path folder = world.shim(node).disk() / folders.back();
      for (std::uint32_t left = draw.between(1, kFlipsMax); left > 0; --left) {
        GCOORD_TRY(const BitFlip flip, flip_bit(files_that_matter(folder), draw));
        rotten_.back().flips.push_back(flip);
      }
      what += " " + std::to_string(rotten_.back().flips.size()) + " places of the " +
              folders.back() + " of " + name_nodes({node}) + ",";
      folders.pop_back();
      GCOORD_TRY_STATUS(world.cluster.spawn(node));
    }
    what.pop_back();
    for (Rotten& each : rotten_) {
      each.starts = world.cluster.wait_serving(each.node, kOpensWithin).ok();
    }
    return what;
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(500, 1500); }

  Result<std::string> heal(LiveWorld& world) override {
    for (Rotten& each : rotten_) {
      const bool refused = !each.starts || !world.alive(each.node);
      world.cluster.kill(each.node);
      refused_ += refused ? 1u : 0u;
      if (refused) {
        world.cluster.lose_memory(each.node);
        continue;
      }
      for (auto flip = each.flips.rbegin(); flip != each.flips.rend(); ++flip) {
        flip_back(*flip);
      }
    }
    for (const Rotten& each : rotten_) {
      GCOORD_TRY_STATUS(world.start({each.node}));
    }
    return std::to_string(refused_) + " refused and rejoin, " +
           std::to_string(rotten_.size() - refused_) + " harmless so far";
  }

  std::uint64_t felt() const override { return refused_; }

 private:
  struct Rotten {
    std::uint32_t node = 0;
    std::vector<BitFlip> flips;
    bool starts = false;
  };

  std::vector<Rotten> rotten_;
  std::uint64_t refused_ = 0;
};

// One more voter for as long as the strike holds; half the time a founder leads nothing meanwhile,
// or has another weight.
class MemberChange final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    newcomer_.emplace("newcomer-" + std::to_string(draw.between(1, 1'000'000'000)));
    GCOORD_TRY_STATUS(newcomer_->come(into(world)));
    std::string what = newcomer_->comes() ? "one more node joins" : "an invitation is lost";
    if (draw.one_in(2)) {
      changed_ = draw.between(1, world.node_count());
      weighs_ = draw.one_in(2);
      what += ", " + name_nodes({changed_}) + (weighs_ ? " weighs twice as much" : " drains");
      change(world, weighs_ ? client::MemberAction::Reweigh : client::MemberAction::Drain, 2);
    }
    return what;
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(2000, 6000); }

  Result<std::string> heal(LiveWorld& world) override {
    if (newcomer_->comes()) {
      GCOORD_TRY_STATUS(newcomer_->await_active(into(world)));
    }
    for (int tries = 0; changed_ != 0 && tries < kTriesMax && !is_back(world); ++tries) {
      change(world, weighs_ ? client::MemberAction::Reweigh : client::MemberAction::Undrain, 1);
    }
    GCOORD_TRY_STATUS(newcomer_->leave(into(world)));
    return std::string{newcomer_->comes() ? "it was active, and has left" : ""};
  }

  std::uint64_t felt() const override { return newcomer_ && newcomer_->comes() ? 1 : 0; }

 private:
  static constexpr int kTriesMax = 30;

  static Newcomer::Cluster into(LiveWorld& world) {
    return {world.cluster, world.client, world.program};
  }

  // What else strikes may refuse it; is_back() sees to the end.
  void change(LiveWorld& world, client::MemberAction action, std::uint32_t weight) const {
    client::MemberChange wanted;
    wanted.action = action;
    wanted.node_id = changed_;
    wanted.weight = action == client::MemberAction::Reweigh ? weight : 0;
    wanted.who = "live chaos";
    static_cast<void>(world.client.change_member(wanted));
  }

  bool is_back(LiveWorld& world) const {
    const auto view = world.client.view();
    const auto* const members = view.ok() ? &view.value().members : nullptr;
    return members != nullptr && std::ranges::any_of(*members, [this](const auto& member) {
             return member.node_id == changed_ && member.weight == 1 &&
                    member.state == client::MemberState::Active;
           });
  }

  std::optional<Newcomer> newcomer_;
  std::uint32_t changed_ = 0;  // 0: none.
  bool weighs_ = false;
};

}  // namespace

std::vector<FaultClass> membership_faults(const StepPosition& place) {
  const FaultClass changes =
      place.resident ? FaultClass{.name = "member-change",
                                  .table = "22",
                                  .make = {},
                                  .skip = "nodes with --turn resident refuse changes of members"}
                     : FaultClass{.name = "member-change",
                                  .table = "22",
                                  .make = [] { return std::make_unique<MemberChange>(); },
                                  .in_company = true};
  return {changes,
          {.name = "membership",
           .table = "22, 24",
           .make = [] { return std::make_unique<Membership>(); },
           .forgets = true,
           .in_company = true},
          {.name = "two-corrupt",
           .table = "4, 22",
           .make = [] { return std::make_unique<TwoCorrupt>(); },
           .forgets = true}};
}

}  // namespace gcoord::chaos
