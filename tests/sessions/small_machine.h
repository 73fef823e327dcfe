// A machine that keeps sessions and nothing else: the tables that sessions/ asks for, with replies
// that are numbers and things held that are counted.
#pragma once

#include "common/random.h"
#include "common/tables/growing_index.h"
#include "common/tables/row_pool.h"
#include "sessions/registrations.h"
#include "sessions/request_window.h"

#include <array>
#include <cstdint>

namespace gcoord::sessions {

struct SmallRequest {
  RequestSequence sequence;
  SessionRow session_row;
  RequestRow next;
  RequestRow previous;
  std::uint32_t argument_hash = 0;
  std::uint32_t answer = 0;  // 0: it waits.

  bool waits() const { return answer == 0; }
};

struct SmallShard {
  std::uint32_t serial_last = 0;
  SessionRow session_first;
  std::uint32_t session_count = 0;
};

struct SmallTables {
  RowPool<SessionRecord, SessionRow> sessions;
  RowPool<SmallRequest, RequestRow> requests;
  MovingIndex session_index;
  SmallShard* shards = nullptr;

  SmallShard& shard(ShardId id) const { return shards[id.value]; }

  std::uint32_t session_hash(ShardId shard, SessionId session) const {
    return static_cast<std::uint32_t>(mix64(session.value ^ mix64(shard.value)));
  }
};

class SmallMachine {
 public:
  static constexpr std::uint32_t kSessions = 16;
  static constexpr std::uint32_t kRequests = 256;

  SmallMachine() {
    index_.reserve(kSessions);
    tables.sessions = {.records = sessions_.data(),
                       .free_rows = free_sessions_.data(),
                       .window = &session_window_,
                       .capacity = kSessions};
    tables.requests = {.records = requests_.data(),
                       .free_rows = free_requests_.data(),
                       .window = &request_window_,
                       .capacity = kRequests};
    tables.session_index = index_.view();
    tables.shards = shards_.data();
  }

  SmallMachine(const SmallMachine&) = delete;
  SmallMachine& operator=(const SmallMachine&) = delete;

  SessionRow add(ShardId shard, std::uint64_t session) {
    const SessionId id{session};
    return enter_session(tables, shard, id, 1000, tables.session_hash(shard, id));
  }

  SmallTables tables;

 private:
  std::array<SessionRecord, kSessions + 1> sessions_{};
  std::array<SmallRequest, kRequests + 1> requests_{};
  std::array<std::uint32_t, kSessions> free_sessions_{};
  std::array<std::uint32_t, kRequests> free_requests_{};
  RowWindow session_window_{.last = kSessions};
  RowWindow request_window_{.last = kRequests};
  std::array<SmallShard, 2> shards_{};
  GrowingIndex index_;
};

}  // namespace gcoord::sessions
