// Partitions and bad links, by the proxies between the nodes' peer ports.
#include "chaos/live/fault.h"

#include <algorithm>
#include <thread>

namespace gcoord::chaos {

namespace {

using Link = std::pair<std::uint32_t, std::uint32_t>;
using Links = std::vector<Link>;

bool is_among(const std::vector<std::uint32_t>& nodes, std::uint32_t node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// Every ordered pair for which the question is answered with yes.
template <typename Question>
Links links_where(const LiveWorld& world, Question&& question) {
  Links links;
  for (std::uint32_t from = 1; from <= world.node_count(); ++from) {
    for (std::uint32_t to = 1; to <= world.node_count(); ++to) {
      if (from != to && question(from, to)) {
        links.emplace_back(from, to);
      }
    }
  }
  return links;
}

std::uint64_t changed(const LinkCounts& counts) {
  return counts.held + counts.delayed + counts.dropped + counts.duplicated + counts.reordered +
         counts.corrupted + counts.stalls;
}

// What all faults of links have in common: some links, made bad and made good again.
class LinkTrouble : public Fault {
 public:
  Result<std::string> heal(LiveWorld& world) override {
    felt_ = changed(world.proxies.counts()) - before_;
    for (const auto& [from, to] : links_) {
      world.proxies.set(from, to, {});
    }
    return std::string{};
  }

  std::uint64_t felt() const override { return felt_; }

 protected:
  void strike(LiveWorld& world, Links links, const LinkFault& fault) {
    before_ = changed(world.proxies.counts());
    links_ = std::move(links);
    for (const auto& [from, to] : links_) {
      world.proxies.set(from, to, fault);
    }
  }

  const Links& links() const { return links_; }

 private:
  Links links_;
  std::uint64_t before_ = 0;
  std::uint64_t felt_ = 0;
};

class Partition final : public LinkTrouble {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto few = draw.some(draw.between(1, world.minority()), world.node_count());
    strike(world,
           links_where(
               world, [&](auto from, auto to) { return is_among(few, from) != is_among(few, to); }),
           {.cut = true});
    return name_nodes(few) + " cut off from the others";
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(1500, 7000); }
};

class OneWay final : public LinkTrouble {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto node = draw.between(1, world.node_count());
    const bool is_deaf = draw.one_in(2);
    strike(world,
           links_where(world, [&](auto from, auto to) { return (is_deaf ? to : from) == node; }),
           {.cut = true});
    return "node " + std::to_string(node) + (is_deaf ? " hears nobody" : " is heard by nobody");
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(1500, 7000); }
};

// Two nodes that cannot reach one another although all others reach both, or two sides that only
// one node joins.
class Partial final : public LinkTrouble {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto order = draw.some(world.node_count(), world.node_count());
    if (draw.one_in(2) || world.node_count() < 4) {
      const std::uint32_t a = order[0];
      const std::uint32_t b = order[1];
      strike(world,
             links_where(world,
                         [&](auto from, auto to) {
                           return (from == a && to == b) || (from == b && to == a);
                         }),
             {.cut = true});
      return "no link between " + name_nodes({a, b});
    }
    const std::uint32_t bridge = order[0];
    const std::vector<std::uint32_t> left(order.begin() + 1,
                                          order.begin() + 1 + (world.node_count() - 1) / 2);
    strike(world,
           links_where(world,
                       [&](auto from, auto to) {
                         return from != bridge && to != bridge &&
                                is_among(left, from) != is_among(left, to);
                       }),
           {.cut = true});
    return "node " + std::to_string(bridge) + " alone joins " + name_nodes(left) +
           " and the others";
  }

  std::chrono::milliseconds hold(Draw& draw) override { return draw.milliseconds(2000, 7000); }
};

// Links stop one by one, and come back in another order.
class Swizzle final : public LinkTrouble {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto few = draw.some(world.minority(), world.node_count());
    strike(world, {}, {});
    order_ = links_where(
        world, [&](auto from, auto to) { return is_among(few, from) != is_among(few, to); });
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[draw.below(static_cast<std::uint32_t>(i))]);
    }
    for (const auto& [from, to] : order_) {
      world.proxies.set(from, to, {.cut = true});
      std::this_thread::sleep_for(kBetween);
    }
    return "links of " + name_nodes(few) + " stop one by one";
  }

  Result<std::string> heal(LiveWorld& world) override {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto& [from, to] = order_[(i * 5 + 3) % order_.size()];
      world.proxies.set(from, to, {});
      std::this_thread::sleep_for(kBetween);
    }
    for (const auto& [from, to] : order_) {
      world.proxies.set(from, to, {});
    }
    return LinkTrouble::heal(world);
  }

 private:
  static constexpr std::chrono::milliseconds kBetween{80};
  Links order_;
};

// All links of some nodes, or of all, are bad in one way.
class BadLinks final : public LinkTrouble {
 public:
  enum class Way : std::uint8_t { Delay, Drop, Duplicate, Reorder, Corrupt, Stall };

  explicit BadLinks(Way way) : way_(way) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const auto few = draw.some(draw.between(1, world.minority()), world.node_count());
    const bool all = way_ != Way::Stall && draw.one_in(3);
    std::string what;
    const LinkFault fault = draw_fault(draw, what);
    strike(world,
           links_where(
               world,
               [&](auto from, auto to) { return all || is_among(few, from) || is_among(few, to); }),
           fault);
    return what + " on every link" + (all ? std::string{} : " of " + name_nodes(few));
  }

 private:
  LinkFault draw_fault(Draw& draw, std::string& what) const {
    const auto share = draw.between(2, 60);
    const std::string percent =
        std::to_string(share / 10) + "." + std::to_string(share % 10) + " %";
    LinkFault fault;
    switch (way_) {
      case Way::Delay:
        fault.delay_us = 1000 * draw.between(2, 80);
        fault.jitter_us = 1000 * draw.between(1, 80);
        what = std::to_string(fault.delay_us / 1000) + " ms and up to " +
               std::to_string(fault.jitter_us / 1000) + " ms more";
        break;
      case Way::Drop:
        fault.drop = share;
        what = percent + " of frames lost";
        break;
      case Way::Duplicate:
        fault.duplicate = share;
        what = percent + " of frames twice";
        break;
      case Way::Reorder:
        fault.reorder = share;
        what = percent + " of frames overtaken";
        break;
      case Way::Corrupt:
        fault.corrupt = share;
        what = "a bit flipped in " + percent + " of frames";
        break;
      case Way::Stall:
        fault.stalled = true;
        what = "the window stays closed";
        break;
    }
    return fault;
  }

  Way way_;
};

FaultClass bad_links(std::string_view name, std::string_view table, BadLinks::Way way) {
  return {name, table, true, [way] { return std::make_unique<BadLinks>(way); }, {}};
}

}  // namespace

std::vector<FaultClass> link_faults() {
  return {{"partition", "9", false, [] { return std::make_unique<Partition>(); }, {}},
          {"partition-one-way", "10", false, [] { return std::make_unique<OneWay>(); }, {}},
          {"partition-partial", "11", false, [] { return std::make_unique<Partial>(); }, {}},
          {"swizzle-clog", "13", false, [] { return std::make_unique<Swizzle>(); }, {}},
          bad_links("delay", "12", BadLinks::Way::Delay),
          bad_links("drop", "12", BadLinks::Way::Drop),
          bad_links("duplicate", "12", BadLinks::Way::Duplicate),
          bad_links("reorder", "12", BadLinks::Way::Reorder),
          bad_links("corrupt", "12", BadLinks::Way::Corrupt),
          {"stall-window",
           "21",
           false,
           [] { return std::make_unique<BadLinks>(BadLinks::Way::Stall); },
           {}}};
}

}  // namespace gcoord::chaos
