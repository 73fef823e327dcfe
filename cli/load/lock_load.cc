#include "cli/load/lock_load.h"

#include <atomic>
#include <memory>
#include <utility>

namespace gcoord::cli {

namespace {

// Why it failed, as histories say it: only what tells something about the lock.
const char* reason_of(const client::Status& status) {
  switch (status.detail()) {
    case client::kDetailLockBusy:
      return "busy";
    case client::kDetailLockNotHeld:
    case client::kDetailTokenStale:
      return "not_held";
    default:
      return nullptr;
  }
}

std::string arguments_of(std::uint64_t session, const client::Status& status, bool already_held) {
  std::string args = "{\"session\":\"" + std::to_string(session) + "\"";
  if (const char* reason = reason_of(status)) {
    args.append(",\"reason\":\"").append(reason).append("\"");
  }
  return args + (already_held ? ",\"already_held\":true}" : "}");
}

// A session whose end is worth a line.
struct SessionLoss {
  History* history = nullptr;
  std::uint32_t process = 0;
  std::atomic<std::uint64_t> session{0};
};

// From then on its locks may be anybody's, so a history that lacked this would look wrong.
void write_loss(const SessionLoss& loss, client::SessionEvent event) {
  const std::uint64_t session = loss.session.load(std::memory_order_relaxed);
  if (event != client::SessionEvent::Expired || loss.history == nullptr || session == 0) {
    return;
  }
  const std::uint64_t now = steady_ns();
  loss.history->write({loss.process,
                       "session_lost",
                       "",
                       arguments_of(session, client::Status{}, false),
                       now,
                       now,
                       "ok",
                       0});
}

// What all lanes of a load share.
struct LaneShared {
  ClosedLoad& load;
  const LockLoadOptions& options;
  History* history = nullptr;
};

struct LaneName {
  std::uint32_t process = 0;
  std::string name;
};

class LockLane final : public LoadLane {
 public:
  LockLane(const LaneShared& shared, client::Session& session, LaneName lane)
      : shared_(shared), session_(session), number_(lane.process), name_(std::move(lane.name)) {}

  void acquire() override;

 private:
  // An operation that has returned.
  struct Outcome {
    const char* op = "";
    client::Status status;
    std::uint64_t returned_ns = 0;
    std::uint64_t token = 0;
    bool already_held = false;
  };

  void on_granted(const client::Result<client::Grant>& grant);
  void on_released(std::uint64_t token, const client::Status& status);
  void record(const Outcome& outcome);

  LaneShared shared_;
  client::Session& session_;
  std::uint32_t number_ = 0;
  std::string name_;
  std::uint64_t called_ns_ = 0;
};

void LockLane::acquire() {
  called_ns_ = steady_ns();
  // An acquire of a lane's own name does not wait.
  const client::AcquireOptions how{
      .wait = kLoadWaitMax,
      .stop = shared_.options.shared_name ? &shared_.load.interrupted() : nullptr};
  session_.acquire_async(
      name_, how, [this](const client::Result<client::Grant>& grant) { on_granted(grant); });
}

void LockLane::record(const Outcome& outcome) {
  if (shared_.history != nullptr) {
    shared_.history->write({number_,
                            outcome.op,
                            name_,
                            arguments_of(session_.id(), outcome.status, outcome.already_held),
                            called_ns_,
                            outcome.returned_ns,
                            outcome_of(outcome.status),
                            outcome.token});
  }
}

void LockLane::on_granted(const client::Result<client::Grant>& grant) {
  const std::uint64_t returned = steady_ns();
  const std::uint64_t token = grant.ok() ? grant.value().token : 0;
  record({.op = "acquire",
          .status = grant.ok() ? client::Status{} : grant.status(),
          .returned_ns = returned,
          .token = token,
          .already_held = grant.ok() && grant.value().already_held});
  if (!grant.ok()) {
    if (!shared_.load.interrupted().stop_requested()) {
      shared_.load.note_error(grant.status());
    }
    return shared_.load.next(*this);
  }
  shared_.load.note_acquired(returned - called_ns_);
  called_ns_ = returned;
  session_.release_async(
      name_, token, [this, token](const client::Status& status) { on_released(token, status); });
}

void LockLane::on_released(std::uint64_t token, const client::Status& status) {
  const std::uint64_t returned = steady_ns();
  record({.op = "release", .status = status, .returned_ns = returned, .token = token});
  if (status.ok()) {
    shared_.load.note_released(returned - called_ns_, 1);
  } else {
    shared_.load.note_error(status);
  }
  shared_.load.next(*this);
}

}  // namespace

LockLoad::LockLoad(LockLoadOptions options, History* history)
    : ClosedLoad(options.clients), options_(std::move(options)), history_(history) {}

client::Result<client::Session> LockLoad::open_session(client::Client& client,
                                                       std::uint32_t index) {
  // Not of this load: the event may come when it is gone, while the client is being closed.
  const auto loss = std::make_shared<SessionLoss>();
  loss->history = history_;
  loss->process = index * options_.pipeline;
  auto session = client.open_session(
      {options_.ttl, [loss](client::SessionEvent event) { write_loss(*loss, event); }});
  if (session.ok()) {
    loss->session.store(session.value().id(), std::memory_order_relaxed);
  }
  return session;
}

void LockLoad::add_lanes(client::Session& session, std::uint32_t index, Lanes& lanes) {
  const LaneShared shared{*this, options_, history_};
  for (std::uint32_t lane = 0; lane < options_.pipeline; ++lane) {
    const std::string own = "/" + std::to_string(index) + "/" + std::to_string(lane);
    lanes.push_back(std::make_unique<LockLane>(
        shared,
        session,
        LaneName{index * options_.pipeline + lane,
                 options_.prefix + (options_.shared_name ? "/shared" : own)}));
  }
}

}  // namespace gcoord::cli
