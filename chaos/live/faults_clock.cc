// Clocks that are wrong, by the shim.
#include "chaos/live/fault.h"

namespace gcoord::chaos {

namespace {

std::uint64_t reads_changed(LiveWorld& world) {
  std::uint64_t reads = 0;
  for (const auto& shim : world.shims) {
    reads += shim->control().clock_reads_changed.load();
  }
  return reads;
}

class ClockTrouble : public Fault {
 public:
  Result<std::string> heal(LiveWorld& world) override {
    felt_ = reads_changed(world) - before_;
    for (const std::uint32_t node : nodes_) {
      world.shim(node).heal();
    }
    return std::string{};
  }

  std::uint64_t felt() const override { return felt_; }

 protected:
  const std::vector<std::uint32_t>& choose(LiveWorld& world, Draw& draw) {
    before_ = reads_changed(world);
    nodes_ = draw.some(draw.between(1, world.node_count()), world.node_count());
    return nodes_;
  }

 private:
  std::vector<std::uint32_t> nodes_;
  std::uint64_t before_ = 0;
  std::uint64_t felt_ = 0;
};

// The wall clock jumps by hours; nothing may depend on it.
class Skew final : public ClockTrouble {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto& nodes = choose(world, draw);
    for (const std::uint32_t node : nodes) {
      const auto minutes = static_cast<std::int64_t>(draw.between(1, 2880)) - 1440;
      world.shim(node).control().wall_offset_ns.store(minutes * 60'000'000'000);
    }
    return "the wall clocks of " + name_nodes(nodes) + " jump by up to a day";
  }
};

// Clocks run fast or slow within what clients are told to allow for: 1 %
// (docs/reference/services.md).
class Drift final : public ClockTrouble {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto& nodes = choose(world, draw);
    for (const std::uint32_t node : nodes) {
      world.shim(node).set_rate(draw.between(991'000, 1'009'000));
    }
    return "the clocks of " + name_nodes(nodes) + " run up to 0.9 % fast or slow";
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(4000, 8000); }
};

}  // namespace

std::vector<FaultClass> clock_faults() {
  return {{"clock-skew", "14", true, [] { return std::make_unique<Skew>(); }, {}},
          {"clock-drift", "15", true, [] { return std::make_unique<Drift>(); }, {}}};
}

}  // namespace gcoord::chaos
