// Rendezvous: processes gather until a round of them is complete, as elastic training needs it.
//
// A rendezvous is a name. Sessions join it and wait. Once `members_min` wait, a last call runs;
// when it ends, or when `members_max` wait, the round is complete: all of them get the same round
// with the same members, and each its rank: 0, 1, 2 and so on. Members of the round before keep
// their order and come first. A session that ends before leaves; the last call ends too when too
// few are left.
//
// No round begins while a member of the last one is still in it. A member is in until it joins
// again, leaves, or its session ends. So a newcomer waits; the members see in the state that
// somebody waits, or that one of them has gone, stop their work and join again for the next round.
// Rounds rise and none comes twice, but not always by one.
//
// Functions may be called from any thread; objects are moved and destroyed by one. Those that end
// in _async return at once (gcoord/future.h). A future that is dropped takes nothing back: the
// session waits until its timeout.
//
//  Rendezvous rendezvous{session, "train"};
//  auto round = rendezvous.join({.members_min = 2, .members_max = 8, .payload = "10.0.0.7:29400"});
//  ... round.value().rank of round.value().members.size() ...
#pragma once

#include "gcoord/api.h"
#include "gcoord/future.h"
#include "gcoord/status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

class Client;
class Core;
class Session;
class SessionImpl;

struct RendezvousOptions {
  // 1 to 256 members; all who wait say the same numbers (GC6414), or GC6418.
  std::uint32_t members_min = 0;
  std::uint32_t members_max = 0;
  // How long others may still come when the minimum is there. 0: the round is complete at once.
  std::chrono::milliseconds last_call{30'000};
  // How long this session waits, at most a day (GC1106); then it waits no more, and GC6415 says how
  // many had come.
  std::chrono::milliseconds timeout{600'000};
  std::string payload;  // For the other members to read: up to 512 bytes (GC6412).
};

struct RendezvousMember {
  std::uint64_t session_id = 0;
  std::string payload;
};

// A complete round; its world size is the number of members.
struct RendezvousRound {
  std::uint64_t round = 0;
  std::uint32_t rank = 0;                 // Of the session that joined.
  std::vector<RendezvousMember> members;  // By rank.
};

// A rendezvous as it is now.
struct RendezvousState {
  std::uint64_t version = 0;  // Another one after each change.
  std::uint64_t round = 0;    // The last one; 0: none that anybody is in.
  std::uint64_t alive = 0;    // Bit r: the member of rank r is in; of ranks below 64.
  std::uint32_t size = 0;     // Members that the round had.
  std::uint32_t present = 0;  // Of these, who have not joined again, left or ended.
  std::uint32_t waiting = 0;  // Sessions that wait for the next round.
  std::uint32_t members_min = 0;
  std::uint32_t members_max = 0;
  bool last_call = false;  // Whether the last call runs.
};

// The state of a rendezvous, for members and for others. Takes no part in it.
class GCOORD_API RendezvousStates {
 public:
  // Asks no node. The client outlives this object.
  RendezvousStates(const Client& client, std::string_view name);
  ~RendezvousStates();
  RendezvousStates(RendezvousStates&&) noexcept;
  RendezvousStates& operator=(RendezvousStates&&) noexcept;

  // The state of now, linearizable.
  Result<RendezvousState> now();
  Future<Result<RendezvousState>> now_async();

  // The state when its version is another one than this, waiting for that as long as said; what is
  // still the same after the wait is returned as it is. Changes in between are not shown.
  Result<RendezvousState> after(std::uint64_t version, std::chrono::milliseconds wait);
  Future<Result<RendezvousState>> after_async(std::uint64_t version,
                                              std::chrono::milliseconds wait);

 private:
  std::shared_ptr<Core> core_;
  std::string name_;
};

// One session's part in a rendezvous, which ends with leave() or with the session, not with this
// object.
class GCOORD_API Rendezvous {
 public:
  // Asks no node. The object may outlive the session, whose end it then reports.
  Rendezvous(const Session& session, std::string_view name);
  ~Rendezvous();
  Rendezvous(Rendezvous&&) noexcept;
  Rendezvous& operator=(Rendezvous&&) noexcept;

  const std::string& name() const;

  // Waits for a round that this session is part of. A member of the last round is out of that with
  // this call. GC6415 after the timeout, GC6416 when 512 wait already, GC6417 when the session left
  // meanwhile, GC6419 while a node of an older release is there. After GC4009 or GC5001 it may wait
  // on until the timeout.
  Result<RendezvousRound> join(const RendezvousOptions& options);
  Future<Result<RendezvousRound>> join_async(const RendezvousOptions& options);

  // Waits no more, and is out of the last round. GC6417 when it was in neither.
  Status leave();
  Future<Status> leave_async();

 private:
  std::shared_ptr<SessionImpl> session_;
  std::string name_;
};

}  // namespace gcoord::client
