#include "bench/vs/peers/zookeeper_peer.h"

#include "bench/vs/peers/zookeeper_cluster.h"
#include "bench/vs/peers/zookeeper_target.h"

#include <algorithm>
#include <optional>
#include <span>

namespace gcoord::bench {

namespace {

struct Way {
  std::uint32_t sessions;  // 0: one for each client.
  bool to_leader;
  bool children_at_once;
};

constexpr Way kWays[] = {{0, false, false},
                         {0, false, true},
                         {0, true, true},
                         {48, false, true},
                         {16, true, true},
                         {3, false, true},
                         {1, true, true}};

// A client has one session: it holds all its locks, and what it asks is served in order.
constexpr Way kWaysOfOneSession[] = {
    {1, true, false}, {1, true, true}, {1, false, false}, {1, false, true}};

std::span<const Way> ways_of(Shape shape) {
  return shape == Shape::Many ? std::span<const Way>{kWays}
                              : std::span<const Way>{kWaysOfOneSession};
}

std::string text_of(const Way& way) {
  std::string text = way.sessions == 0   ? "a session for each client"
                     : way.sessions == 1 ? "one session"
                                         : std::to_string(way.sessions) + " sessions";
  if (way.to_leader) {
    text += " to the leader";
  } else {
    text += way.sessions == 1 ? " to a follower" : " to all servers in turn";
  }
  return text + (way.children_at_once ? ", children asked for together with the creation"
                                      : ", children asked for after the creation");
}

class ZookeeperPeer final : public Peer {
 public:
  std::string name() const override { return "zookeeper"; }

  Result<PeerFacts> describe() override {
    GCOORD_TRY(std::string version, zookeeper_version());
    return PeerFacts{
        .name = name(),
        .version = std::move(version),
        .client =
            "ZooKeeper's C client without threads (zookeeper_st), asynchronous, one thread; "
            "the lock recipe: an ephemeral sequential node, then its siblings; one session "
            "for all pipelined names",
        .acknowledged = "the change is on stable storage (forceSync) of two of three servers",
        .settings = zookeeper_settings(),
        .promises = {
            {"A node is lost", "nothing is lost; another server leads after an election"},
            {"Power of all nodes is lost", "nothing acknowledged is lost"},
            {"Locks and reads",
             "changes linearizable; reads in the order of the session, maybe of the past"},
            {"Fencing token",
             "none by that name; the number of the lock's node, or its zxid, rises and can serve"},
            {"Who waits", "on a watch of the node before its own, in the order of numbers"},
            {"The holder dies", "its session ends after its timeout, and with it its nodes"},
            {"An answer is lost",
             "unknown; a second node may come of asking again, which the client must look for"},
            {"Proof of the past", "none"}}};
  }

  std::size_t way_count(Shape shape) const override { return ways_of(shape).size(); }

  std::string way_text(Shape shape, std::size_t way) const override {
    return text_of(ways_of(shape)[way]);
  }

  Status start(const std::filesystem::path& directory) override {
    GCOORD_TRY(cluster_, ZookeeperCluster::start(directory));
    return Status{};
  }

  Result<LoadResult> run(std::size_t way, const PeerLoad& load) override {
    const Way& chosen = ways_of(load.shape)[way];
    ZookeeperOptions target;
    target.endpoints = endpoints(chosen);
    target.sessions =
        chosen.sessions == 0 ? load.length.clients : std::min(chosen.sessions, load.length.clients);
    target.children_at_once = chosen.children_at_once;
    target.name_prefix = load.name_prefix;
    return run_zookeeper(target, load.length);
  }

  void stop() override { cluster_.reset(); }

 private:
  // Followers first, so that a single session that is not to the leader is to a follower.
  std::vector<std::string> endpoints(const Way& way) const {
    const std::string leader = cluster_->endpoints()[cluster_->leader()];
    if (way.to_leader) {
      return {leader};
    }
    std::vector<std::string> all = cluster_->endpoints();
    std::stable_partition(
        all.begin(), all.end(), [&leader](const std::string& each) { return each != leader; });
    return all;
  }

  std::optional<ZookeeperCluster> cluster_;
};

}  // namespace

std::unique_ptr<Peer> make_zookeeper_peer() {
  return std::make_unique<ZookeeperPeer>();
}

}  // namespace gcoord::bench
