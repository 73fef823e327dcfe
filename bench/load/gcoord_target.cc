#include "bench/load/gcoord_target.h"

#include "chaos/process/cluster_watch.h"
#include "gcoord/client.h"

#include <memory>

namespace gcoord::bench {

namespace {

class GcoordTarget final : public LockTarget {
 public:
  void add_session(client::Session session) { sessions_.push_back(std::move(session)); }

  // A name for the session that was added last.
  void add_name(std::string name) { clients_.push_back({sessions_.size() - 1, std::move(name)}); }

  void drive(ClosedLoop& loop) {
    loop_ = &loop;
    auto end = loop.end();
    loop.start();
    end.wait();
  }

  void lock(std::uint32_t index) override {
    LockClient& each = clients_[index];
    sessions_[each.session].acquire_async(
        each.name, {}, [this, index](client::Result<client::Grant> grant) {
          if (grant.ok()) {
            clients_[index].token = grant.value().token;
          }
          loop_->on_locked(index, grant.ok() ? "" : grant.status().to_string());
        });
  }

  void unlock(std::uint32_t index) override {
    LockClient& each = clients_[index];
    sessions_[each.session].release_async(
        each.name, each.token, [this, index](client::Status status) {
          loop_->on_unlocked(index, status.ok() ? "" : status.to_string());
        });
  }

 private:
  struct LockClient {
    std::size_t session = 0;  // Its place in sessions_.
    std::string name;
    std::uint64_t token = 0;
  };

  std::vector<client::Session> sessions_;
  std::vector<LockClient> clients_;
  ClosedLoop* loop_ = nullptr;
};

}  // namespace

Result<LoadResult> run_gcoord(const GcoordOptions& options, const LoadOptions& load) {
  client::ClientOptions client_options;
  client_options.endpoints = options.endpoints;
  client_options.client_name = "gcoord-bench";
  client_options.tls = options.tls;
  auto connected = client::Client::connect(client_options);
  if (!connected.ok()) {
    return chaos::from_client(connected.status());
  }
  client::Client client = std::move(connected).value();
  if (const auto all = client.wait_for_all_nodes(std::chrono::seconds{10}); !all.ok()) {
    return chaos::from_client(all);
  }
  GcoordTarget target;
  for (std::uint32_t index = 0; index < options.clients; ++index) {
    if (index == 0 || !options.one_session) {
      auto session = client.open_session({.ttl = std::chrono::seconds{60}});
      if (!session.ok()) {
        return chaos::from_client(session.status());
      }
      target.add_session(std::move(session).value());
    }
    target.add_name(options.name_prefix + "/" + std::to_string(index));
  }
  LoadOptions run = load;
  run.clients = options.clients;
  ClosedLoop loop{run, target};
  target.drive(loop);
  return loop.take_result();
}

}  // namespace gcoord::bench
