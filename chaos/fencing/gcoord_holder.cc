#include "chaos/demo/lane.h"
#include "chaos/demo/recorded_session.h"
#include "chaos/fencing/lock_holder.h"
#include "chaos/process/cluster_watch.h"

#include <atomic>
#include <vector>

namespace gcoord::chaos {

namespace {

constexpr std::chrono::seconds kWait{5};

class GcoordHolder final : public LockHolder {
 public:
  GcoordHolder(client::Client& client,
               HistoryWriter& history,
               std::uint32_t process,
               std::chrono::milliseconds ttl)
      : client_(client), history_(history), number_(process), ttl_(ttl) {}

  Result<std::uint64_t> acquire(const std::string& name) override {
    GCOORD_TRY_STATUS(open());
    Operation asked{.process = number_,
                    .op = Op::Acquire,
                    .kind = AcquireKind::Wait,
                    .key = name,
                    .session = session(),
                    .call_ns = history_now_ns()};
    auto lock = session_.front().acquire(name, {.wait = kWait});
    token_ = lock.ok() ? lock.value().fence() : 0;
    asked.token = token_;
    asked.already_held = lock.ok() && lock.value().already_held();
    note(asked, lock.status());
    if (!lock.ok()) {
      return from_client(lock.status());
    }
    lock.value().detach();
    return token_;
  }

  Status release(const std::string& name) override {
    Operation asked{.process = number_,
                    .op = Op::Release,
                    .key = name,
                    .session = session(),
                    .token = token_,
                    .call_ns = history_now_ns()};
    const client::Status released = session_.front().release(name, token_);
    note(asked, released);
    return from_client(released);
  }

  std::uint64_t session() const override { return session_.empty() ? 0 : session_.front().id(); }

 private:
  Status open() {
    if (!session_.empty() && !lost_->load(std::memory_order_relaxed)) {
      return Status{};
    }
    lost_ = std::make_shared<std::atomic<bool>>(false);
    certain_ = std::make_shared<std::atomic<std::uint64_t>>(0);
    auto opened = open_recorded_session(
        client_,
        history_,
        {.process = number_, .ttl = ttl_, .lost = lost_, .certain_until_ns = certain_});
    if (!opened.ok()) {
      return from_client(opened.status());
    }
    session_.clear();
    session_.push_back(std::move(opened).value());
    return Status{};
  }

  void note(Operation& operation, const client::Status& status) {
    if (const auto until_ns = certain_until_ns(session_.front()); until_ns != 0) {
      certain_->store(until_ns);
    }
    operation.return_ns = history_now_ns();
    operation.outcome = outcome_of(status);
    operation.reason = reason_of(status);
    history_.write(operation);
  }

  client::Client& client_;
  HistoryWriter& history_;
  std::uint32_t number_;
  std::chrono::milliseconds ttl_;
  std::vector<client::Session> session_;  // At most one: a Session has no empty state.
  std::shared_ptr<std::atomic<bool>> lost_;
  std::shared_ptr<std::atomic<std::uint64_t>> certain_;
  std::uint64_t token_ = 0;
};

}  // namespace

std::unique_ptr<LockHolder> make_gcoord_holder(client::Client& client,
                                               HistoryWriter& history,
                                               std::uint32_t process,
                                               std::chrono::milliseconds ttl) {
  return std::make_unique<GcoordHolder>(client, history, process, ttl);
}

}  // namespace gcoord::chaos
