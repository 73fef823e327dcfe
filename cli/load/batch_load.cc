#include "cli/load/batch_load.h"

#include <utility>
#include <vector>

namespace gcoord::cli {

namespace {

// Its names are the session's own, so that nobody waits but for what an earlier run has left.
class BatchLane final : public LoadLane {
 public:
  BatchLane(ClosedLoad& load, client::Session& session, std::vector<std::string> names)
      : load_(load), session_(session), names_(std::move(names)) {}

  void acquire() override {
    called_ns_ = steady_ns();
    session_.acquire_many_async(
        names_, {.wait = kLoadWaitMax}, [this](const auto& grants) { on_granted(grants); });
  }

 private:
  void on_granted(const client::Result<std::vector<client::Result<client::Grant>>>& grants);
  void on_released(const client::Result<std::vector<client::Status>>& released);

  ClosedLoad& load_;
  client::Session& session_;
  std::vector<std::string> names_;
  std::uint64_t called_ns_ = 0;
};

void BatchLane::on_granted(
    const client::Result<std::vector<client::Result<client::Grant>>>& grants) {
  if (!grants.ok()) {
    load_.note_error(grants.status());
    return load_.next(*this);
  }
  std::vector<client::HeldToken> holds;
  holds.reserve(names_.size());
  for (std::size_t index = 0; index < names_.size(); ++index) {
    const auto& grant = grants.value()[index];
    if (grant.ok()) {
      holds.push_back({names_[index], grant.value().token});
    } else {
      load_.note_error(grant.status());
    }
  }
  if (holds.empty()) {
    return load_.next(*this);
  }
  load_.note_acquired(steady_ns() - called_ns_);
  called_ns_ = steady_ns();
  session_.release_many_async(std::move(holds),
                              [this](const auto& released) { on_released(released); });
}

void BatchLane::on_released(const client::Result<std::vector<client::Status>>& released) {
  if (!released.ok()) {
    load_.note_error(released.status());
    return load_.next(*this);
  }
  std::uint64_t pairs = 0;
  for (const client::Status& status : released.value()) {
    pairs += status.ok() ? 1 : 0;
    if (!status.ok()) {
      load_.note_error(status);
    }
  }
  load_.note_released(steady_ns() - called_ns_, pairs);
  load_.next(*this);
}

}  // namespace

BatchLoad::BatchLoad(BatchLoadOptions options)
    : ClosedLoad(options.clients), options_(std::move(options)) {}

client::Result<client::Session> BatchLoad::open_session(client::Client& client,
                                                        std::uint32_t /*index*/) {
  return client.open_session({.ttl = options_.ttl});
}

void BatchLoad::add_lanes(client::Session& session, std::uint32_t index, Lanes& lanes) {
  std::vector<std::string> names;
  for (std::uint32_t name = 0; name < options_.batch; ++name) {
    names.push_back(options_.prefix + "/" + std::to_string(index) + "/" + std::to_string(name));
  }
  lanes.push_back(std::make_unique<BatchLane>(*this, session, std::move(names)));
}

}  // namespace gcoord::cli
