// Limit of the locks that one session holds and waits for, in all shards together.
//
// A leader looks before it proposes. What the session has is counted over this node's replicas of
// all shards, plus what is in the log for it from here and not decided yet; so one leader never
// admits more than the limit, and several leaders together exceed it at most by what is on its way
// between them. The count is made anew only when what it left has been admitted since, so that an
// acquire costs one look-up; without a limit nothing. One thread.
#pragma once

#include "common/ids.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace gcoord::server {

class SessionViews;

class SessionQuota {
 public:
  // 0: no limit.
  explicit SessionQuota(std::uint32_t limit) : limit_(limit) {}

  // Whether the session may have one more; counts it as on its way until on_decided.
  bool admit(SessionId session, const SessionViews& views);

  // A request that was proposed has come to an end; looks at acquires only.
  void on_decided(const protocol::RequestSlot& request);

  std::size_t size() const { return accounts_.size(); }

 private:
  struct Account {
    std::uint32_t left = 0;  // Admissible before the next count.
    std::uint32_t on_its_way = 0;
  };

  // Sessions whose last count is remembered; beyond it idle accounts are dropped.
  static constexpr std::size_t kAccountsMax = std::size_t{1} << 16;

  std::uint32_t limit_;
  std::unordered_map<std::uint64_t, Account> accounts_;
};

}  // namespace gcoord::server
