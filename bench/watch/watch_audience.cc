#include "bench/watch/watch_audience.h"

#include "client/net/asio.h"
#include "client/net/connection.h"
#include "gcoord/clock.h"
#include "protocol/hello.h"
#include "protocol/watch_messages.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace gcoord::bench {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::minutes kPatience{1};
constexpr std::uint32_t kThreads = 2;  // Of the cores, this side has so many.

}  // namespace

struct WatchAudience::Stage {
  // One thread's part: connections and what their watches were told.
  struct Part {
    asio::io_context context{1};
    std::vector<std::shared_ptr<client::Connection>> connections;
    Latencies told;
    std::thread thread;
  };

  void connect(Part& part, std::uint32_t watches);
  void on_reply(Part& part,
                client::Connection& connection,
                std::uint32_t watches,
                const protocol::ReplySlot& slot,
                std::span<const std::byte> payload);
  void count(std::uint32_t& counter);
  bool wait(std::uint32_t& counter);

  AudienceOptions options;
  std::shared_ptr<client::Clock> clock = client::boot_clock();
  std::atomic<steady_clock::time_point> asked_at{};
  std::vector<std::unique_ptr<Part>> parts;
  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::uint32_t begun = 0;
  std::uint32_t heard = 0;
  std::string failure;
};

void WatchAudience::Stage::count(std::uint32_t& counter) {
  const std::lock_guard lock(mutex);
  ++counter;
  if (counter == options.watches) {
    changed.notify_all();
  }
}

bool WatchAudience::Stage::wait(std::uint32_t& counter) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, kPatience, [&] {
    return counter == options.watches || !failure.empty();
  }) && failure.empty();
}

void WatchAudience::Stage::connect(Part& part, std::uint32_t watches) {
  const auto connection = std::make_shared<client::Connection>(part.context, *clock);
  part.connections.push_back(connection);
  client::Connection& own = *connection;
  client::Connection::Events events;
  events.on_connected = [&own] {
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    own.send(hello, protocol::encode(protocol::Hello{.client = "gcoord-bench"}));
  };
  events.on_reply = [this, &part, &own, watches](const protocol::ReplySlot& slot, auto payload) {
    on_reply(part, own, watches, slot, payload);
  };
  events.on_batch_end = [&own] { own.flush(); };
  events.on_closed = [this](const std::string& reason) {
    const std::lock_guard lock(mutex);
    failure = reason;
    changed.notify_all();
  };
  own.connect(options.address, std::move(events));
}

void WatchAudience::Stage::on_reply(Part& part,
                                    client::Connection& connection,
                                    std::uint32_t watches,
                                    const protocol::ReplySlot& slot,
                                    std::span<const std::byte> payload) {
  if (slot.code != StatusCode::Ok) {
    return connection.close("GC" + std::to_string(slot.detail));
  }
  if (slot.kind == protocol::RequestKind::Hello) {
    const auto query = protocol::encode_watch_query({.text = options.name});
    for (std::uint32_t k = 1; k <= watches; ++k) {
      protocol::RequestSlot open;
      open.kind = protocol::RequestKind::WatchOpen;
      open.request_id = k;
      connection.send(open, query);
    }
    return;
  }
  const bool progress =
      payload.front() == static_cast<std::byte>(protocol::WatchMessageKind::Progress);
  if (!progress) {
    part.told.add(steady_clock::now() - asked_at.load());
  }
  count(progress ? begun : heard);
}

WatchAudience::WatchAudience(std::unique_ptr<Stage> stage) : stage_(std::move(stage)) {}

WatchAudience::~WatchAudience() {
  for (const auto& part : stage_->parts) {
    part->context.stop();
    part->thread.join();
    for (const auto& connection : part->connections) {
      connection->abandon();
    }
  }
}

Result<std::unique_ptr<WatchAudience>> WatchAudience::open(const AudienceOptions& options) {
  auto stage = std::make_unique<Stage>();
  stage->options = options;
  for (std::uint32_t k = 0; k < std::min(kThreads, options.connections); ++k) {
    stage->parts.push_back(std::make_unique<Stage::Part>());
  }
  for (std::uint32_t k = 0; k < options.connections; ++k) {
    stage->connect(*stage->parts[k % stage->parts.size()], options.watches / options.connections);
  }
  for (const auto& part : stage->parts) {
    part->thread = std::thread([context = &part->context] { context->run(); });
  }
  std::unique_ptr<WatchAudience> audience(new WatchAudience(std::move(stage)));
  if (!audience->stage_->wait(audience->stage_->begun)) {
    return Status{StatusCode::Unavailable, "watches did not begin: " + audience->stage_->failure};
  }
  return audience;
}

void WatchAudience::expect(steady_clock::time_point asked_at) {
  {
    const std::lock_guard lock(stage_->mutex);
    stage_->heard = 0;
  }
  stage_->asked_at.store(asked_at);
}

bool WatchAudience::await() {
  return stage_->wait(stage_->heard);
}

Latencies WatchAudience::told() const {
  Latencies all;
  for (const auto& part : stage_->parts) {
    all.add_all(part->told);
  }
  return all;
}

}  // namespace gcoord::bench
