// A lease and what its holder hears when it cannot be kept: jeopardy, safe, expired.
//
// So that this takes no time, the client runs on a clock of our own, which we move. Programs leave
// ClientOptions::clock alone.
#include "example.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace {

using gcoord::client::SessionEvent;
using gcoord::client::TimePoint;

// The system's clock, and what we add to it.
class MovedClock final : public gcoord::client::Clock {
 public:
  TimePoint now() const override {
    const std::lock_guard lock{mutex_};
    return gcoord::client::boot_clock()->now() + added_;
  }

  void notify_moves(std::function<void()> wake) override {
    const std::lock_guard lock{mutex_};
    wake_ = std::move(wake);
  }

  void move(TimePoint by) {
    std::function<void()> wake;
    {
      const std::lock_guard lock{mutex_};
      added_ += by;
      wake = wake_;
    }
    if (wake) {
      wake();
    }
  }

 private:
  mutable std::mutex mutex_;
  TimePoint added_{};
  std::function<void()> wake_;
};

// Callbacks run on the client's thread: they note what happened, and the program looks.
class Events {
 public:
  void add(SessionEvent event) {
    const std::lock_guard lock{mutex_};
    events_.push_back(event);
    added_.notify_all();
  }

  std::vector<SessionEvent> wait_for(std::size_t count) {
    std::unique_lock lock{mutex_};
    added_.wait(lock, [&] { return events_.size() >= count; });
    return events_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<SessionEvent> events_;
};

}  // namespace

int main() {
  const auto clock = std::make_shared<MovedClock>();
  auto options = example::options();
  options.clock = clock;
  auto client = example::value_of(gcoord::client::Client::connect(options));

  Events events;
  gcoord::client::LeaseOptions how;
  how.ttl = std::chrono::seconds{30};
  how.on_event = [&events](SessionEvent event) { events.add(event); };
  auto lease = example::value_of(client.take_lease("examples/lease", how));
  example::expect(lease.valid(), "the lease is certain");
  example::expect(lease.renew().ok(), "a majority of the nodes renews it");

  // This program "sleeps" for a minute. The lease is over by its own clock before anything is told.
  clock->move(std::chrono::minutes{1});
  example::expect(!lease.valid(), "nobody may rely on it any more");
  const auto told = events.wait_for(2);
  example::expect(told[0] == SessionEvent::Jeopardy && told[1] == SessionEvent::Expired,
                  "jeopardy is told before expired");
  example::expect(lease.release().ok(), "giving back what is lost is no failure");
  std::printf("lease %s under token %llu: jeopardy, then expired\n",
              lease.name().c_str(),
              static_cast<unsigned long long>(lease.fence()));
  return 0;
}
