#include "bench/vs/peers/etcd_peer.h"

#include "bench/etcd/etcd_connections.h"
#include "bench/etcd/etcd_target.h"
#include "bench/etcd/ways.h"
#include "bench/vs/peers/program_version.h"
#include "chaos/process/etcd_cluster.h"

#include <optional>
#include <span>

namespace gcoord::bench {

namespace {

constexpr std::chrono::seconds kElection{30};

// One client with one lock at a time has one connection.
constexpr EtcdWay kWaysOfOne[] = {{EtcdRecipe::Transaction, EtcdSpread::Leader, 1},
                                  {EtcdRecipe::LockService, EtcdSpread::Leader, 1}};

std::span<const EtcdWay> ways_of(Shape shape) {
  return shape == Shape::One ? std::span<const EtcdWay>{kWaysOfOne}
                             : std::span<const EtcdWay>{kEtcdWays};
}

std::string text_of(const EtcdWay& way) {
  const std::string recipe = way.recipe == EtcdRecipe::Transaction
                                 ? "recipe of the client library (Txn, DeleteRange)"
                                 : "lock service (v3lock)";
  return recipe + ", connections " +
         (way.spread == EtcdSpread::Leader ? "to the leader: " : "to all members: ") +
         std::to_string(way.connections);
}

class EtcdPeer final : public Peer {
 public:
  EtcdPeer(const std::string& release, const std::string& program)
      : release_(release), program_(program) {}

  std::string name() const override { return "etcd-" + release_; }

  Result<PeerFacts> describe() override {
    if (program_.empty()) {
      return Status{StatusCode::NotFound, "no program was given with --etcd35"};
    }
    GCOORD_TRY(std::string version, program_version({program_, "--version"}, "etcd Version: "));
    if (!version.starts_with(release_ + ".")) {
      return Status{StatusCode::FailedPrecondition,
                    program_ + " is etcd " + version + ", not " + release_};
    }
    return PeerFacts{
        .name = name(),
        .version = std::move(version),
        .client =
            "gRPC C++, asynchronous, one thread; a lease for each client, one lease for all "
            "pipelined names; two recipes and 1 to 48 connections tried",
        .acknowledged = "the change is on stable storage (fdatasync) of two of three members",
        .settings = {"--logger zap", "--log-level error", "all else: its defaults"},
        .promises = {
            {"A node is lost", "nothing is lost; another member leads after the election timeout"},
            {"Power of all nodes is lost", "nothing acknowledged is lost"},
            {"Locks and reads", "linearizable; serializable reads on request"},
            {"Fencing token",
             "none by that name; the creation revision of the lock's key rises and can serve"},
            {"Who waits", "on a watch of the key before its own, in the order of revisions"},
            {"The holder dies", "its lease ends after its TTL, and with it its keys"},
            {"An answer is lost",
             "unknown; the recipe's key carries the lease, so that asking again is safe"},
            {"Proof of the past", "none"}}};
  }

  std::size_t way_count(Shape shape) const override { return ways_of(shape).size(); }

  std::string way_text(Shape shape, std::size_t way) const override {
    return text_of(ways_of(shape)[way]);
  }

  Status start(const std::filesystem::path& directory) override {
    GCOORD_TRY(cluster_, chaos::EtcdCluster::start(directory, 3, program_));
    GCOORD_TRY(const std::string leader, find_etcd_leader(cluster_->endpoints(), kElection));
    static_cast<void>(leader);  // It has one; a load asks which.
    return Status{};
  }

  Result<LoadResult> run(std::size_t way, const PeerLoad& load) override {
    const EtcdWay& chosen = ways_of(load.shape)[way];
    EtcdOptions target;
    target.endpoints = cluster_->endpoints();
    target.clients = load.length.clients;
    target.connections = chosen.connections;
    target.recipe = chosen.recipe;
    target.spread = chosen.spread;
    target.name_prefix = load.name_prefix;
    target.one_lease = load.shape == Shape::Pipelined;
    return run_etcd(target, load.length);
  }

  void stop() override { cluster_.reset(); }

 private:
  std::string release_;
  std::string program_;
  std::optional<chaos::EtcdCluster> cluster_;
};

}  // namespace

std::unique_ptr<Peer> make_etcd_peer(const std::string& release, const std::string& program) {
  return std::make_unique<EtcdPeer>(release, program);
}

}  // namespace gcoord::bench
