#include "bench/vs/peers/redis_peer.h"

#include "bench/vs/peers/program_version.h"
#include "bench/vs/peers/redis_server.h"
#include "bench/vs/peers/redis_target.h"

#include <algorithm>
#include <optional>
#include <span>

namespace gcoord::bench {

namespace {

constexpr std::uint32_t kConnections[] = {1, 16, 256};

std::span<const std::uint32_t> connections_of(Shape shape) {
  return std::span<const std::uint32_t>{kConnections}.first(shape == Shape::One ? 1 : 3);
}

class RedisPeer final : public Peer {
 public:
  explicit RedisPeer(std::string_view sync) : sync_(sync), always_(sync == "always") {}

  std::string name() const override { return "redis-" + sync_; }

  Result<PeerFacts> describe() override {
    GCOORD_TRY(std::string version, program_version({"redis-server", "--version"}, "v="));
    return PeerFacts{
        .name = name(),
        .version = std::move(version),
        .nodes = 1,
        .client =
            "hiredis, pipelined, one thread; SET NX PX, and the script of Redis's manual to "
            "unlock; 1 to 256 connections tried",
        .acknowledged = always_ ? "the change is on stable storage of the one node"
                                : "the change is in the memory of the one node, on its disk about "
                                  "a second later",
        .settings = redis_settings(sync_),
        .promises = {
            {"A node is lost", "no service until it is back, and nothing if its disk is lost"},
            {"Power of all nodes is lost",
             always_ ? "nothing acknowledged is lost"
                     : "about the last second is lost: a lock may be given out twice"},
            {"Locks and reads", "one node, one after the other: linearizable while it keeps all"},
            {"Fencing token", "none"},
            {"Who waits", "asks again; no order"},
            {"The holder dies",
             "its key ends after its PX; so does that of a holder that lives "
             "and does not renew it"},
            {"An answer is lost", "unknown; the client reads the key, or waits for its end"},
            {"Proof of the past", "none"}}};
  }

  std::size_t way_count(Shape shape) const override { return connections_of(shape).size(); }

  std::string way_text(Shape shape, std::size_t way) const override {
    return "connections: " + std::to_string(connections_of(shape)[way]);
  }

  Status start(const std::filesystem::path& directory) override {
    GCOORD_TRY(server_, RedisServer::start(directory, sync_));
    return Status{};
  }

  Result<LoadResult> run(std::size_t way, const PeerLoad& load) override {
    RedisOptions target;
    target.port = server_->port();
    target.connections = std::min(connections_of(load.shape)[way], load.length.clients);
    target.name_prefix = load.name_prefix;
    return run_redis(target, load.length);
  }

  void stop() override { server_.reset(); }

 private:
  std::string sync_;
  bool always_;
  std::optional<RedisServer> server_;
};

}  // namespace

std::unique_ptr<Peer> make_redis_peer(std::string_view sync) {
  return std::make_unique<RedisPeer>(sync);
}

}  // namespace gcoord::bench
