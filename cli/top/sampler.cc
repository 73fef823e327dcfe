#include "cli/top/sampler.h"

#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <utility>

namespace gcoord::cli::top {

namespace {

using std::chrono::milliseconds;

// At most this many of one interval are followed further.
constexpr std::size_t kNamesOfOneSampleMax = kNamesFollowedMax;
constexpr auto kLockAbsent = static_cast<std::uint32_t>(protocol::ErrorCode::LockAbsent);

std::string told_address(const Json& report) {
  return report.value("metrics", std::string{});
}

LockReading lock_reading(const std::string& name,
                         const client::Result<client::LockDescription>& lock) {
  if (lock.ok()) {
    return {.name = name, .error = {}, .lock = lock.value(), .origins = {}};
  }
  const bool absent = lock.status().detail() == kLockAbsent;
  return {.name = name,
          .error = absent ? std::string{} : lock.status().to_string(),
          .lock = std::nullopt,
          .origins = {}};
}

}  // namespace

Sampler::Sampler(client::Client client, const Waker& answered, ScrapeOptions scraping)
    : scraping_(std::move(scraping)),
      answered_(answered),
      client_(std::move(client)),
      names_(client_, began_) {}

// Closing ends every question that is open, so that the threads come to their ends.
Sampler::~Sampler() {
  static_cast<void>(client_.close());
  probes_.clear();
}

std::uint64_t Sampler::now_ms() const {
  const auto since = std::chrono::steady_clock::now() - began_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

void Sampler::ask_nodes() {
  names_.keep();
  nodes_ = client_.cluster().nodes;
  std::erase_if(nodes_, [](const client::NodeView& node) { return node.node_id == 0; });
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  for (const client::NodeView& node : nodes_) {
    Probe& probe = probes_.try_emplace(node.node_id, scraping_).first->second;
    {
      const std::lock_guard lock(mutex_);
      if (!open_.insert(node.node_id).second) {
        continue;  // Of the round before.
      }
      waiting_.insert(node.node_id);
    }
    probe.asked_ms = now_ms();
    const bool started =
        probe.worker.start([this, node, &probe] { deliver(ask(node, probe.scraper)); });
    if (!started) {  // It delivers in this moment; the next round asks.
      const std::lock_guard lock(mutex_);
      open_.erase(node.node_id);
      waiting_.erase(node.node_id);
    }
  }
}

bool Sampler::all_answered() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty();
}

Sample Sampler::take() {
  Sample sample{.at_ms = now_ms(),
                .nodes = {},
                .names = names_.take(kNamesOfOneSampleMax),
                .names_error = names_.error()};
  const std::lock_guard lock(mutex_);
  for (const client::NodeView& node : nodes_) {
    const auto found = readings_.find(node.node_id);
    if (found != readings_.end()) {
      sample.nodes.push_back(std::move(found->second));
      continue;
    }
    const std::uint64_t asked_ms = probes_.at(node.node_id).asked_ms;
    sample.nodes.push_back(
        {.node = node.node_id,
         .endpoint = node.address,
         .error = "no answer for " + std::to_string(sample.at_ms - asked_ms) + " ms"});
  }
  readings_.clear();
  return sample;
}

// On the worker's thread.
NodeReading Sampler::ask(const client::NodeView& node, Scraper& scraper) {
  NodeReading reading{.node = node.node_id, .endpoint = node.address};
  if (!node.connected) {
    reading.error = node.last_error.empty() ? "not connected" : node.last_error;
    return reading;
  }
  const auto report = client_.node_status_async(node.node_id).get();
  reading.at_ms = now_ms();
  if (!report.ok()) {
    reading.error = report.status().to_string();
    return reading;
  }
  reading.report = parse_json(report.value());
  if (!reading.report.is_object()) {
    reading.error = "its report is no JSON object";
    return reading;
  }
  auto page = scraper.read(told_address(reading.report), node.address);
  reading.at_ms = now_ms();
  if (page.ok()) {
    reading.page = std::move(page).value();
  } else {
    reading.metrics_error = page.status().message();
  }
  return reading;
}

void Sampler::deliver(NodeReading reading) {
  {
    const std::lock_guard lock(mutex_);
    open_.erase(reading.node);
    waiting_.erase(reading.node);
    readings_.insert_or_assign(reading.node, std::move(reading));
  }
  answered_.wake();
}

void Sampler::ask_lock(const std::string& name) {
  names_.follow(name);
  {
    const std::lock_guard lock(mutex_);
    if (name.empty() || lock_open_) {
      return;
    }
    lock_open_ = true;
  }
  client_.get_async(name, true).then([this, name](const auto& lock) {
    LockReading reading = lock_reading(name, lock);
    if (!reading.lock) {
      return deliver_lock(std::move(reading));
    }
    // Nodes that do not know, and those that may not say, leave the sessions' numbers.
    client_.holder_origins_async(name).then([this, reading](const auto& origins) mutable {
      if (origins.ok()) {
        reading.origins = origins.value();
      }
      deliver_lock(std::move(reading));
    });
  });
}

void Sampler::deliver_lock(LockReading reading) {
  {
    const std::lock_guard guard(mutex_);
    lock_ = std::move(reading);
    lock_open_ = false;
  }
  answered_.wake();
}

std::optional<LockReading> Sampler::take_lock() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lock_, std::nullopt);
}

void Sampler::ask_leaders() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(leaders_open_, true)) {
      return;
    }
  }
  const std::uint32_t shards = client_.cluster().shard_count;
  client_.leader_map_async(0, shards).then([this](const auto& leaders) {
    {
      const std::lock_guard guard(mutex_);
      if (leaders.ok()) {
        leaders_ = leaders.value();
      }
      leaders_open_ = false;
    }
    answered_.wake();
  });
}

std::optional<std::vector<std::uint32_t>> Sampler::take_leaders() {
  const std::lock_guard lock(mutex_);
  return std::exchange(leaders_, std::nullopt);
}

}  // namespace gcoord::cli::top
