// Entries of a shard's log about one name: those that name it, and the ends of what they began.
//
// An acquire names its lock, but the end of its session or of its wait names the session alone. A
// trail follows the log in its order and remembers the sessions that the name's acquires are of. It
// does not know what an acquire was answered: a session that only tried counts until it ends or
// releases, so the entry of its end is there too. One thread.
#pragma once

#include "common/name_hash.h"
#include "server/history/record_text.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace gcoord::cli {

// Sessions and shards that the name's entries lead to.
struct NameLinks {
  std::set<std::uint64_t> sessions;
  std::set<std::uint32_t> shards;  // Where the lock was moved.
};

class NameTrail {
 public:
  // Sessions in `moved` may have the lock when it comes from another shard.
  NameTrail(std::string_view name, const std::set<std::uint64_t>& moved);

  // Whether the next entry of the log is about the name.
  bool take(const server::RecordFacts& facts);

  const NameLinks& links() const { return links_; }

 private:
  bool names_it(const server::RecordFacts& facts) const;
  void note(const server::RecordFacts& facts);
  void note_group(std::uint64_t session, std::string_view op);
  void let_go(std::uint64_t session);
  bool ends_wait(const server::RecordFacts& facts);
  bool ends_session(std::uint64_t session);
  bool ends_listed(const server::RecordFacts& facts);

  std::string name_;
  std::string hash_;
  const std::set<std::uint64_t>& moved_;
  std::map<std::uint64_t, std::uint64_t> holds_;  // Acquires that were not released, by session.
  std::set<std::pair<std::uint64_t, std::uint64_t>> asked_;  // Session and sequence of these.
  NameLinks links_;
};

}  // namespace gcoord::cli
