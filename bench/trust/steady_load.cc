#include "bench/trust/steady_load.h"

#include "chaos/process/cluster_watch.h"

#include <utility>

namespace gcoord::bench {
namespace {

using Clock = std::chrono::steady_clock;

// These only bound a failure.
constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::milliseconds kLook{2};

constexpr std::size_t kFailuresKept = 5;

// Between two beginnings of the program that begins anew.
constexpr std::chrono::milliseconds kPause{10};

}  // namespace

Json SteadyLoadResult::json() const {
  Json json = {{"load", name},
               {"pairs", pairs},
               {"connections", connections},
               {"grants_watched", told},
               {"longest_pair_ms", longest_ms},
               {"failed", failed}};
  json["failures"] = Json::array();
  for (const std::string& each : failures) {
    json["failures"].push_back(each);
  }
  return json;
}

Result<std::unique_ptr<SteadyLoad>> SteadyLoad::start(SteadyLoadOptions options) {
  std::unique_ptr<SteadyLoad> load{new SteadyLoad{std::move(options)}};
  GCOORD_TRY_STATUS(load->open());
  return load;
}

Status SteadyLoad::open() {
  auto connected = client::Client::connect(options_.client);
  if (!connected.ok()) {
    return chaos::from_client(connected.status());
  }
  client_ = std::make_unique<client::Client>(std::move(connected).value());
  for (std::uint32_t number = 0; number < options_.clients; ++number) {
    auto session = client_->open_session({.ttl = std::chrono::seconds{30}});
    if (!session.ok()) {
      return chaos::from_client(session.status());
    }
    sessions_.push_back(std::move(session).value());
  }
  auto watch =
      client_->watch({.prefix = options_.name + "/", .kinds = {client::EventKind::Granted}},
                     [this](const client::Result<client::WatchBatch>& batch) {
                       if (!batch.ok()) {
                         note("the watch ended", batch.status());
                         return;
                       }
                       told_ += batch.value().events.size();
                     });
  if (!watch.ok()) {
    return chaos::from_client(watch.status());
  }
  watch_ = std::make_unique<client::Watch>(std::move(watch).value());
  for (std::uint32_t number = 0; number < options_.clients; ++number) {
    threads_.emplace_back([this, number] { run_client(number, sessions_[number]); });
  }
  if (options_.begins_anew) {
    threads_.emplace_back([this] { run_programs(); });
  }
  return Status{};
}

SteadyLoad::~SteadyLoad() {
  static_cast<void>(stop());
}

// Whether it went well.
bool SteadyLoad::note(const std::string& what, const client::Status& status) {
  if (status.ok()) {
    return true;
  }
  ++failed_;
  const std::lock_guard lock{mutex_};
  if (failures_.size() < kFailuresKept) {
    failures_.push_back(what + ": " + status.to_string());
  }
  return false;
}

void SteadyLoad::run_client(std::uint32_t number, client::Session& session) {
  const std::string name = options_.name + "/" + std::to_string(number);
  while (!stops_) {
    const auto began = Clock::now();
    auto lock = session.acquire(name);
    if (!note("acquire", lock.status())) {
      continue;
    }
    ++pairs_;  // Whatever comes of its release, the watch owes this grant.
    note("release", lock.value().release());
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
    const auto us = static_cast<std::uint64_t>(took.count());
    std::uint64_t longest = longest_us_;
    while (longest < us && !longest_us_.compare_exchange_weak(longest, us)) {
    }
  }
}

void SteadyLoad::run_programs() {
  for (std::uint64_t number = 0; !stops_; ++number) {
    connections_ += begin_and_end(number) ? 1 : 0;
    std::this_thread::sleep_for(kPause);
  }
}

bool SteadyLoad::begin_and_end(std::uint64_t number) {
  auto client = client::Client::connect(options_.client);
  if (!note("connect", client.status())) {
    return false;
  }
  auto session = client.value().open_session({.ttl = std::chrono::seconds{10}});
  if (!note("open a session", session.status())) {
    return false;
  }
  auto lock =
      session.value().acquire("programs-of-" + options_.name + "/" + std::to_string(number % 7));
  return note("acquire of a new program", lock.status()) &&
         note("release of a new program", lock.value().release()) &&
         note("close", session.value().close());
}

Status SteadyLoad::await_more(std::uint64_t pairs) const {
  const auto until = Clock::now() + kPatience;
  const std::uint64_t pairs_then = pairs_ + pairs;
  const std::uint64_t connections_then = connections_ + (options_.begins_anew ? 2 : 0);
  while (pairs_ < pairs_then || connections_ < connections_then) {
    if (Clock::now() > until) {
      return Status{StatusCode::DeadlineExceeded, "the load " + options_.name + " stands still"};
    }
    std::this_thread::sleep_for(kLook);
  }
  return Status{};
}

SteadyLoadResult SteadyLoad::stop() {
  // What is under way comes to its end, and counts.
  const bool first = !threads_.empty();
  stops_ = true;
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
  const auto until = Clock::now() + std::chrono::seconds{20};
  while (first && told_ < pairs_ && Clock::now() < until) {
    std::this_thread::sleep_for(kLook);
  }
  watch_.reset();
  sessions_.clear();
  client_.reset();
  SteadyLoadResult result{.name = options_.name,
                          .pairs = pairs_,
                          .connections = connections_,
                          .told = told_,
                          .longest_ms = static_cast<double>(longest_us_.load()) / 1000.0,
                          .failed = failed_,
                          .failures = failures_};
  if (first && result.told != result.pairs) {
    ++result.failed;
    result.failures.push_back("the watch told " + std::to_string(result.told) + " grants of " +
                              std::to_string(result.pairs));
  }
  return result;
}

}  // namespace gcoord::bench
