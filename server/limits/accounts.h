// Accounts of identities on a node: what each has used of its limit.
//
// An identity is a principal, or the address of a client that has proven nobody. Its limit is that
// of its own name in the table; else, of an address, that of "-"; else that of "*". An account
// stays while a connection has it. The others stay until kAccountsMax are there: then a hand goes
// round and takes away those whose bucket is full, and those that nobody has used since it came by
// last (clock; Corbato 1968). So memory is bounded by that and by the connections, and an identity
// gets a new bucket early only while 65,536 others were here lately. Prefixes have buckets of their
// own, one for each in the table. One thread.
#pragma once

#include "common/ids.h"
#include "security/limits/limit_table.h"
#include "server/budget/token_bucket.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

inline constexpr std::size_t kAccountsMax = std::size_t{1} << 16;

// Sessions that one account counts; more of them are not seen.
inline constexpr std::size_t kSessionsCounted = std::size_t{1} << 17;

// Begins the name of an account of somebody who has proven nobody: it is in no principal's name.
inline constexpr char kNobodyMark = '\n';

struct LimitAccount {
  std::string name;       // Of the principal, or kNobodyMark and the address.
  security::Limit limit;  // As of the newest table.
  TokenBucket bucket{0, 0};

  bool proven() const { return !name.starts_with(kNobodyMark); }

  std::uint32_t connections = 0;
  std::uint32_t watches = 0;
  // Sessions of the identity that this node knows, and when each of them is over if no shard has
  // it, in milliseconds of the node's clock.
  std::unordered_map<std::uint64_t, std::uint64_t> sessions;
  std::uint64_t unread_bytes = 0;  // Replies that its clients have not read, as of the last sweep.
  // What may be admitted before the next count.
  std::uint32_t locks_left = 0;
  std::uint32_t waiters_left = 0;
  std::uint64_t counted_ms = 0;
  std::uint64_t dropped_ms = 0;  // When sessions that are over were last taken out.
  bool used = true;              // Since the hand came by.
};

class LimitAccounts {
 public:
  // From now on the limits of the table.
  void assign(const security::LimitTable& table, std::uint64_t now_us);

  // Whether the table limits anything that a request uses.
  bool limits_requests() const { return limits_; }

  bool limits_bytes() const { return limits_bytes_; }

  bool has_prefixes() const { return !prefixes_.empty(); }

  // Whose address or principal it is. The account stays valid while connections is not 0.
  LimitAccount& find(const std::string& name, std::uint64_t now_us);

  // The bucket of the longest prefix of the table with which the name begins; nullptr: none.
  struct PrefixBucket {
    TokenBucket::Rate rate;
    TokenBucket bucket;
    std::string prefix;
  };

  PrefixBucket* prefix_of(std::string_view name);

  std::size_t size() const { return accounts_.size(); }

 private:
  const security::Limit& limit_of(std::string_view name) const;
  void make_room(std::uint64_t now_us);

  std::map<std::string, security::Limit, std::less<>> principals_;
  bool limits_ = false;
  bool limits_bytes_ = false;
  std::map<std::string, PrefixBucket, std::less<>> prefixes_;
  std::vector<std::size_t> prefix_lengths_;  // Falling.
  std::unordered_map<std::string, std::unique_ptr<LimitAccount>> accounts_;
  std::vector<LimitAccount*> ring_;  // All of them, in no order.
  std::size_t hand_ = 0;
};

constexpr TokenBucket::Rate rate_of(const security::Limit& limit) {
  return {limit.rate, limit.burst};
}

}  // namespace gcoord::server
