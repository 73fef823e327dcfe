// Disks that are slow, full, lying or without power while nodes write to them, by the shim.
#include "chaos/live/fault.h"

#include <algorithm>
#include <atomic>
#include <optional>

namespace gcoord::chaos {

namespace {

// A node that must stop by itself is given so long; loaded nodes sync many times a second.
constexpr std::chrono::seconds kStopsWithin{15};

class SlowDisk final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const bool all = draw.one_in(4);
    nodes_ =
        draw.some(all ? world.node_count() : draw.between(1, world.minority()), world.node_count());
    const std::uint32_t delay_ms = all ? draw.between(5, 60) : draw.between(10, 1500);
    for (const std::uint32_t node : nodes_) {
      before_ += world.shim(node).control().syncs_delayed.load();
      world.shim(node).control().sync_delay_us.store(delay_ms * 1000);
    }
    return "each sync of " + name_nodes(nodes_) + " takes " + std::to_string(delay_ms) + " ms more";
  }

  Result<std::string> heal(LiveWorld& world) override {
    for (const std::uint32_t node : nodes_) {
      felt_ += world.shim(node).control().syncs_delayed.load();
      world.shim(node).heal();
    }
    return std::string{};
  }

  std::uint64_t felt() const override { return felt_ - before_; }

 private:
  std::vector<std::uint32_t> nodes_;
  std::uint64_t before_ = 0;
  std::uint64_t felt_ = 0;
};

// What needs space fails. The node may refuse writes or stop, saying why; it may not break, and it
// must come back once there is space.
class FullDisk final : public Fault {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    node_ = draw.between(1, world.node_count());
    world.may_end.push_back(node_);
    before_ = world.shim(node_).control().space_refusals.load();
    world.shim(node_).control().space_is_gone.store(1);
    return "no space left for " + name_nodes({node_});
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(3000, 6000); }

  Result<std::string> heal(LiveWorld& world) override {
    felt_ = world.shim(node_).control().space_refusals.load() - before_;
    world.shim(node_).heal();
    const bool stopped = !world.alive(node_);
    GCOORD_TRY_STATUS(world.start({node_}));
    return std::string{stopped ? "it had stopped, and was started again" : "it went on"};
  }

  std::uint64_t felt() const override { return felt_; }

 private:
  std::uint32_t node_ = 1;
  std::uint64_t before_ = 0;
  std::uint64_t felt_ = 0;
};

// Something of which the process ends, or must: counted by the shim when it happens. The power may
// go with it.
class LastWrite : public Fault {
 public:
  Result<std::string> heal(LiveWorld& world) final {
    const auto exit = world.cluster.wait_exit(node_, kStopsWithin);
    felt_ = counter(world).load() - before_;
    world.shim(node_).heal();
    GCOORD_TRY_STATUS(judge(exit));
    world.cluster.kill(node_);
    PowerLoss loss;
    if (power_goes_) {
      GCOORD_TRY(loss, world.shim(node_).lose_power(seed_));
    }
    GCOORD_TRY_STATUS(world.start({node_}));
    return power_goes_ ? std::to_string(loss.bytes_lost) + " bytes were lost" : std::string{};
  }

  std::uint64_t felt() const final { return felt_; }

 protected:
  virtual std::atomic<std::uint64_t>& counter(LiveWorld& world) const = 0;

  // Of how the process ended, if it did.
  virtual Status judge(const std::optional<int>&) const { return Status{}; }

  void choose(LiveWorld& world, Draw& draw) {
    node_ = draw.between(1, world.node_count());
    world.may_end.push_back(node_);
    seed_ = draw.word();
    before_ = counter(world).load();
  }

  std::uint32_t node_ = 1;
  bool power_goes_ = true;

 private:
  std::uint64_t seed_ = 0;
  std::uint64_t before_ = 0;
  std::uint64_t felt_ = 0;
};

// After a failed sync nobody knows what the disk has: the node must stop, and never sync again.
// What it had written since the last good one is lost with it.
class FailedSync final : public LastWrite {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    choose(world, draw);
    world.shim(node_).control().sync_fails_in.store(draw.between(1, 30));
    return "a sync of " + name_nodes({node_}) + " fails";
  }

 private:
  std::atomic<std::uint64_t>& counter(LiveWorld& world) const override {
    return world.shim(node_).control().syncs_failed;
  }

  Status judge(const std::optional<int>& exit) const override {
    const bool stopped = felt() == 0 || exit.value_or(0) != 0;
    return stopped ? Status{}
                   : Status{StatusCode::Internal,
                            name_nodes({node_}) +
                                " went on after a failed sync, or ended as if all was well"};
  }
};

// The process ends in the middle of a write to its log, of which some sectors are there.
class TornWrite final : public LastWrite {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    choose(world, draw);
    power_goes_ = draw.one_in(2);
    ShimControl& control = world.shim(node_).control();
    control.tear_seed.store(draw.word());
    control.write_tears_in.store(draw.between(1, 60));
    return "a write of " + name_nodes({node_}) + " is torn" +
           (power_goes_ ? ", and the power goes" : "");
  }

 private:
  std::atomic<std::uint64_t>& counter(LiveWorld& world) const override {
    return world.shim(node_).control().writes_torn;
  }
};

// Everything that was not synced is gone, or some of it.
class PowerOff final : public NodesDown {
 public:
  enum class Whom : std::uint8_t { Some, All };

  explicit PowerOff(Whom whom) : whom_(whom) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    nodes_ = draw.some(whom_ == Whom::All ? world.node_count() : draw.between(1, world.minority()),
                       world.node_count());
    for (const std::uint32_t node : nodes_) {
      world.cluster.kill(node);
    }
    PowerLoss all;
    for (const std::uint32_t node : nodes_) {
      GCOORD_TRY(const PowerLoss loss, world.shim(node).lose_power(draw.word()));
      all.bytes_lost += loss.bytes_lost;
      all.bytes_kept += loss.bytes_kept;
      all.directory_changes_lost += loss.directory_changes_lost;
    }
    return name_nodes(nodes_) + " without power: " + std::to_string(all.bytes_lost) +
           " bytes and " + std::to_string(all.directory_changes_lost) + " names lost, " +
           std::to_string(all.bytes_kept) + " bytes kept by luck";
  }

  std::chrono::milliseconds hold(Draw& draw) override {
    return whom_ == Whom::All ? draw.milliseconds(100, 800) : draw.milliseconds(500, 3000);
  }

 private:
  Whom whom_;
};

}  // namespace

std::vector<FaultClass> disk_faults() {
  return {{"slow-disk", "8", true, [] { return std::make_unique<SlowDisk>(); }, {}},
          {"full-disk", "6", false, [] { return std::make_unique<FullDisk>(); }, {}},
          {"failed-sync", "7", false, [] { return std::make_unique<FailedSync>(); }, {}},
          {"torn-write", "3", false, [] { return std::make_unique<TornWrite>(); }, {}},
          {"power-loss",
           "2",
           false,
           [] { return std::make_unique<PowerOff>(PowerOff::Whom::Some); },
           {}},
          {"power-loss-all",
           "2",
           false,
           [] { return std::make_unique<PowerOff>(PowerOff::Whom::All); },
           {}}};
}

}  // namespace gcoord::chaos
