#include "bench/leases/lease_process.h"

#include "bench/leases/node_link.h"
#include "common/json/text.h"
#include "common/name_hash.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/session_messages.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Acquires on their way at once, of one process.
constexpr std::size_t kTakenAtOnce = 512;

bool write_line(int descriptor, const Json& value) {
  const std::string line = value.dump() + "\n";
  return ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

class LeaseClient {
 public:
  Json take(const Json& order) {
    ttl_ = milliseconds{static_cast<std::uint32_t>(unsigned_of(order["ttl_ms"]).value())};
    for (const Json& endpoint : order["endpoints"]) {
      auto link = NodeLink::open(endpoint.text());
      if (!link.ok()) {
        return {{"error", link.status().message()}};
      }
      const NodeId node = link.value()->welcome().node;
      links_[node.value] = std::move(link).value();
    }
    learn_leaders();
    const auto first = unsigned_of(order["first"]).value();
    std::vector<std::uint64_t> left(unsigned_of(order["count"]).value());
    for (std::size_t index = 0; index < left.size(); ++index) {
      left[index] = first + index;
      sessions_.push_back(SessionId{first + index});
    }
    next_renewal_ = Clock::now() + ttl_ / 3;
    while (!left.empty()) {
      take_some(left);
      if (Clock::now() >= next_renewal_) {
        renew();
      }
    }
    return {{"taken", sessions_.size()}};
  }

  // Until the next renewal; negative: there will be none.
  milliseconds until_renewal() const {
    if (sessions_.empty() || ended_) {
      return milliseconds{-1};
    }
    const auto left = std::chrono::ceil<milliseconds>(next_renewal_ - Clock::now());
    return std::max(left, milliseconds{0});
  }

  void renew() {
    next_renewal_ = Clock::now() + ttl_ / 3;
    for (std::size_t start = 0; start < sessions_.size();
         start += protocol::kKeepAliveSessionsMax) {
      const std::size_t count =
          std::min<std::size_t>(protocol::kKeepAliveSessionsMax, sessions_.size() - start);
      renew_part(std::span(sessions_).subspan(start, count));
    }
    ++renewals_;
  }

  Json count() const { return {{"renewals", renewals_}, {"lost", lost_}}; }

  Json last() {
    renew();
    ended_ = true;
    return {{"acknowledged_ns", Clock::now().time_since_epoch().count()}};
  }

 private:
  void learn_leaders() {
    NodeLink& any = *links_.begin()->second;
    leaders_.assign(any.welcome().shard_count, NodeId{});
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LeaderMap;
    for (std::uint32_t first = 0; first < leaders_.size(); first += protocol::kLeaderMapShardsMax) {
      any.add(slot, protocol::encode_shard_range({ShardId{first}, protocol::kLeaderMapShardsMax}));
    }
    static_cast<void>(any.flush());
    static_cast<void>(any.await_replies([&](const protocol::ReplySlot&, auto payload) {
      const auto map = protocol::decode_leader_map(payload);
      for (std::size_t k = 0; map.ok() && k < map.value().leaders.size(); ++k) {
        leaders_[map.value().first.value + k] = map.value().leaders[k];
      }
    }));
  }

  // Asks for the last of what is left; what is not granted is left again.
  void take_some(std::vector<std::uint64_t>& left) {
    const std::size_t count = std::min(left.size(), kTakenAtOnce);
    const std::vector<std::uint64_t> asked(left.end() - static_cast<std::ptrdiff_t>(count),
                                           left.end());
    left.resize(left.size() - count);
    for (std::size_t at = 0; at < asked.size(); ++at) {
      const std::string name = "lease/" + std::to_string(asked[at]);
      const ShardId shard = shard_of(hash_name(name), static_cast<std::uint32_t>(leaders_.size()));
      protocol::RequestSlot slot = protocol::to_slot(protocol::LockAcquire{
          .caller = {SessionId{asked[at]}, RequestSequence{1}, RequestSequence{1}},
          .wait_ms = 0,
          .ttl_ms = static_cast<std::uint32_t>(ttl_.count()),
          .deadline_ms = 5000});
      slot.shard = shard.value;
      slot.request_id = at;
      const auto link = links_.find(leaders_[shard.value].value);
      (link == links_.end() ? links_.begin() : link)->second->add(slot, protocol::bytes_of(name));
    }
    for (auto& [node, link] : links_) {
      static_cast<void>(link->flush());
    }
    for (auto& [node, link] : links_) {
      static_cast<void>(link->await_replies([&](const protocol::ReplySlot& reply, auto) {
        if (reply.code != StatusCode::Ok) {
          left.push_back(asked[reply.request_id]);
          leaders_[reply.shard] = NodeId{reply.leader};
        }
      }));
    }
  }

  // A node that is gone is left out from then on.
  void renew_part(std::span<const SessionId> part) {
    const std::vector<std::byte> payload = protocol::encode_keep_alive(part);
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::KeepAlive;
    std::erase_if(links_, [&](auto& each) {
      each.second->add(slot, payload);
      return !each.second->flush().ok();
    });
    std::erase_if(links_, [&](auto& each) {
      return !each.second
                  ->await_replies([&](const protocol::ReplySlot&, auto missed) {
                    const auto entries = protocol::decode_keep_alive_reply(missed);
                    for (std::size_t k = 0; entries.ok() && k < entries.value().size(); ++k) {
                      lost_ +=
                          entries.value()[k].state == protocol::KeepAliveState::Expired ? 1 : 0;
                    }
                  })
                  .ok();
    });
  }

  std::map<std::uint32_t, std::unique_ptr<NodeLink>> links_;
  std::vector<NodeId> leaders_;
  std::vector<SessionId> sessions_;
  milliseconds ttl_{10'000};
  Clock::time_point next_renewal_;
  std::uint64_t renewals_ = 0;
  std::uint64_t lost_ = 0;
  bool ended_ = false;
};

// One line of orders, or empty at the end of the pipe; renews meanwhile.
std::string next_order(int orders, LeaseClient& client) {
  std::string line;
  while (line.empty() || line.back() != '\n') {
    pollfd ready{orders, POLLIN, 0};
    const milliseconds wait = client.until_renewal();
    if (::poll(&ready, 1, static_cast<int>(wait.count())) == 0) {
      client.renew();
      continue;
    }
    char byte = 0;
    if (::read(orders, &byte, 1) != 1) {
      return {};
    }
    line += byte;
  }
  return line;
}

int live(int orders, int answers) {
  LeaseClient client;
  while (true) {
    const std::string line = next_order(orders, client);
    if (line.empty()) {
      return 0;
    }
    const Json order = parse_json(line);
    const std::string what = order.value("do", std::string{});
    const Json answer = what == "take"    ? client.take(order)
                        : what == "count" ? client.count()
                                          : client.last();
    if (!write_line(answers, answer)) {
      return 1;
    }
  }
}

}  // namespace

Result<LeaseProcess> LeaseProcess::fork_one() {
  int orders[2];
  int answers[2];
  if (::pipe2(orders, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) {
    return Status{StatusCode::Internal, "cannot make pipes"};
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Status{StatusCode::Internal, "cannot fork"};
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(orders[1]);
    ::close(answers[0]);
    ::_exit(live(orders[0], answers[1]));
  }
  ::close(orders[0]);
  ::close(answers[1]);
  return LeaseProcess{pid, orders[1], answers[0]};
}

LeaseProcess::LeaseProcess(LeaseProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      to_child_(std::exchange(other.to_child_, -1)),
      from_child_(std::exchange(other.from_child_, -1)),
      read_(std::move(other.read_)) {}

LeaseProcess::~LeaseProcess() {
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(to_child_);
    ::close(from_child_);
  }
}

Status LeaseProcess::order(const Json& order) {
  return write_line(to_child_, order) ? Status{} : Status{StatusCode::Unavailable, "a client died"};
}

Result<Json> LeaseProcess::await() {
  while (read_.find('\n') == std::string::npos) {
    char bytes[4096];
    const ssize_t count = ::read(from_child_, bytes, sizeof(bytes));
    if (count <= 0) {
      return Status{StatusCode::Unavailable, "a client process died"};
    }
    read_.append(bytes, static_cast<std::size_t>(count));
  }
  const std::size_t end = read_.find('\n');
  Json answer = parse_json(std::string_view{read_}.substr(0, end));
  read_.erase(0, end + 1);
  if (answer.contains("error")) {
    return Status{StatusCode::Unavailable, answer["error"].text()};
  }
  return answer;
}

}  // namespace gcoord::bench
