#include "bench/vs/peers/gcoord_peer.h"

#include "bench/cluster/running_cluster.h"
#include "bench/load/gcoord_target.h"
#include "bench/vs/peers/program_version.h"

namespace gcoord::bench {

namespace {

class GcoordPeer final : public Peer {
 public:
  explicit GcoordPeer(const BenchOptions& options) : options_(options) {
    options_.node_cores.clear();  // Servers run where this process does.
  }

  std::string name() const override { return "gcoord"; }

  Result<PeerFacts> describe() override {
    GCOORD_TRY(std::string version,
               program_version({options_.gcoordd.string(), "--version"}, "gcoordd "));
    return PeerFacts{
        .name = name(),
        .version = std::move(version),
        .client =
            "libgcoord_client, C++, asynchronous; one Client for all, a session for each "
            "client of the load, one session for all pipelined names",
        .acknowledged = "the command is on stable storage (fdatasync) of two of three nodes",
        .settings = {"--shards " + std::to_string(options_.shards) + " (the default)",
                     "--durability durable (the default)",
                     "--turn host (the default)",
                     "--tick-ms 10 (the default)",
                     "--log-level warn"},
        .promises = {
            {"A node is lost",
             "nothing is lost; its shards are led again after the election timeout"},
            {"Power of all nodes is lost", "nothing acknowledged is lost"},
            {"Locks and reads", "linearizable; weaker reads on request"},
            {"Fencing token", "with each grant; tokens of successive grants of a name rise"},
            {"Who waits", "in a queue at the leader, in the order of the log; it is told"},
            {"The holder dies", "its session ends after its TTL, and with it all its locks"},
            {"An answer is lost", "the client sends again, and the command takes effect once"},
            {"Proof of the past", "signed history with inclusion proofs"}}};
  }

  std::size_t way_count(Shape) const override { return 1; }

  std::string way_text(Shape, std::size_t) const override { return "defaults"; }

  Status start(const std::filesystem::path& directory) override {
    options_.directory = directory;
    GCOORD_TRY(cluster_, RunningCluster::start(options_, options_.shards));
    return Status{};
  }

  Result<LoadResult> run(std::size_t, const PeerLoad& load) override {
    GcoordOptions target;
    target.endpoints = cluster_->nodes().endpoints();
    target.clients = load.length.clients;
    target.name_prefix = load.name_prefix;
    target.one_session = load.shape == Shape::Pipelined;
    return run_gcoord(target, load.length);
  }

  void stop() override { cluster_.reset(); }

 private:
  BenchOptions options_;
  std::unique_ptr<RunningCluster> cluster_;
};

}  // namespace

std::unique_ptr<Peer> make_gcoord_peer(const BenchOptions& options) {
  return std::make_unique<GcoordPeer>(options);
}

}  // namespace gcoord::bench
