// A client of a simulated world that is part of groups: it joins and leaves, changes its payload,
// follows the views, waits at a barrier and in a rendezvous, one request at a time, with the
// product's exactly-once numbers. Now and then it dies without a word and comes back as another
// session. What it hears goes to the judge. Its clock is the world's. One thread.
#pragma once

#include "chaos/groups/group_judge.h"
#include "chaos/random/sim_random.h"
#include "client/net/leader_cache.h"
#include "client/records/sequence_window.h"
#include "common/ids.h"
#include "protocol/error_codes.h"
#include "protocol/groups/messages.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::chaos {

struct MemberOptions {
  std::uint64_t seed = 1;
  std::uint32_t number = 0;
  std::uint32_t node_count = 3;
  std::uint32_t shard_count = 1;
  std::uint32_t ttl_ms = 9'000;
  std::uint64_t election_ms = 2'000;
};

// All of it outlives the member.
struct MemberEnvironment {
  std::function<void(NodeId to, const protocol::RequestSlot&, std::span<const std::byte> payload)>
      send;
  std::function<void(const std::string&)> report;  // What is broken.
  GroupJudge& judge;
};

class Member {
 public:
  Member(const MemberOptions& options, MemberEnvironment environment);

  void pass(std::uint64_t now_us);

  void take_reply(NodeId from, const protocol::ReplySlot& slot, std::span<const std::byte> payload);

  // Nothing is begun any more; the session is closed.
  void begin_end() { ends_ = true; }

  bool ended() const { return ends_ && !request_ && session_.id == 0; }

  // Requests that were answered with a success.
  std::uint64_t done() const { return done_; }

 private:
  struct UnderWay {
    protocol::RequestSlot slot;
    std::vector<std::byte> payload;
    std::string name;
    NodeId to;
    std::uint64_t retry_us = 0;
    std::uint64_t deadline_us = 0;
    std::uint32_t attempt = 0;
    bool numbered = false;
    std::uint64_t begun_us = 0;
  };

  struct Session {
    std::uint64_t id = 0;
    std::uint64_t keep_alive_us = 0;
    std::map<std::uint32_t, client::SequenceWindow> windows;
    std::map<std::uint64_t, std::pair<NodeId, std::uint64_t>> sent;  // Keep-alives by request id.
    std::map<NodeId, std::uint64_t> acknowledged_us;  // When the newest that was answered was sent.
  };

  struct Reply {
    NodeId from;
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  std::uint64_t timeout_us() const { return options_.election_ms * 500; }

  void keep_alive();
  bool on_keep_alive(const Reply& reply);
  bool certain() const;
  void end_session();
  void close_session();
  void begin();
  void begin_request(protocol::RequestKind kind, const std::string& name);
  std::vector<std::byte> payload_of(protocol::RequestKind kind, const std::string& name);
  void send();
  void on_reply(const Reply& reply);
  void on_failure(const protocol::ReplySlot& slot);
  void complete(const Reply* reply);
  void on_success(const UnderWay& ended, const Reply& reply);
  void on_answer(const std::string& name, std::span<const std::byte> payload);
  void on_round(const UnderWay& ended, const Reply& reply);
  void report(const std::string& broken) const;

  MemberOptions options_;
  MemberEnvironment env_;
  SimRandom random_;
  client::LeaderCache leaders_;
  Session session_;
  std::optional<UnderWay> request_;
  std::vector<Reply> replies_;
  std::map<std::string, protocol::GroupAnswer> views_;  // The newest view of each group, as rows.
  std::uint64_t now_us_ = 0;
  std::uint64_t next_us_ = 0;
  std::uint64_t dead_until_us_ = 0;
  std::uint64_t request_last_ = 0;
  std::uint64_t done_ = 0;
  bool ends_ = false;
};

}  // namespace gcoord::chaos
