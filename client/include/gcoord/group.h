// Groups: processes that agree on who of them is there.
//
// A group is a name. Its members are sessions, so a member that dies is taken out when its session
// ends. All members and all who watch see the same sequence of views; each has an epoch, which
// rises by one with every change of the members, and the members by rank: 0, 1, 2 and so on in the
// order in which they joined. When a member goes, the ranks behind it close up. Members whose
// sessions end in one entry of the log go in one view. A group that was empty may go on with a much
// higher epoch; no epoch of a name is ever used twice.
//
// A barrier lets a number of sessions go on together. Nobody passes before so many distinct
// sessions have arrived; then all do, by one entry of the log. Arriving twice at one name, before
// and after the work, makes a double barrier.
//
// Functions may be called from any thread; objects are moved and destroyed by one. Those that end
// in _async return at once (gcoord/future.h). A future that is dropped takes nothing back: a
// barrier's arrival stands until its timeout.
//
//  Group group{session, "workers"};
//  auto joined = group.join("worker-7", "10.0.0.7:80");
//  auto passed = group.barrier({.size = 8, .timeout = 30s});
#pragma once

#include "gcoord/api.h"
#include "gcoord/future.h"
#include "gcoord/status.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

class Client;
class GroupFeed;
class Session;
class SessionImpl;

struct GroupMember {
  std::uint64_t session_id = 0;
  std::string id;       // As it joined; no other member has it.
  std::string payload;  // Its own words: an address, for example.
};

struct GroupView {
  std::uint64_t epoch = 0;
  std::vector<GroupMember> members;  // By rank.
  // Views may be missing before this one: the node did not have them any more. Never set on the
  // first view that somebody sees.
  bool gap = false;
  // The barrier of this name as it was when the view was asked for: how many have arrived, of how
  // many; 0 of 0 when nobody waits.
  std::uint32_t arrived = 0;
  std::uint32_t barrier_size = 0;
};

// The views of a group, for members and for others. Takes no part in the group.
class GCOORD_API GroupViews {
 public:
  // Asks no node. The client outlives this object.
  GroupViews(const Client& client, std::string_view name);
  ~GroupViews();
  GroupViews(GroupViews&&) noexcept;
  GroupViews& operator=(GroupViews&&) noexcept;

  // The view of now, linearizable. A group that nobody is in has no members.
  Result<GroupView> now();
  Future<Result<GroupView>> now_async();

  // The view after the one that this object has shown last; the first call shows the view of now.
  // Waits for it as long as said; then GC4009. Every view is shown once and in order, over changes
  // of leaders too. One call at a time.
  Result<GroupView> next(std::chrono::milliseconds wait);
  Future<Result<GroupView>> next_async(std::chrono::milliseconds wait);

  // Calls back with every view from that of now on, on the client's thread, until stop() or the end
  // of this object. A failure that is not passing is the last call. Once per object, and not
  // together with next().
  void on_view(std::function<void(const Result<GroupView>&)> callback);

  // No call of on_view's callback begins after it. Not from that callback.
  void stop();

 private:
  std::shared_ptr<GroupFeed> feed_;
};

// The answer to a join.
struct GroupMembership {
  std::uint64_t epoch = 0;  // Of the view that it is part of first.
  std::uint32_t rank = 0;   // In that view.
};

struct BarrierOptions {
  std::uint32_t size = 0;  // How many sessions; the same number for all of them. 1 to 256.
  // How long this one waits, at most a day (GC1106); then its arrival is taken back, and GC6407
  // says who was missing.
  std::chrono::milliseconds timeout{30'000};
};

// One session's part in a group. Being a member ends with leave() or with the session, not with
// this object.
class GCOORD_API Group {
 public:
  // Asks no node. The group lives as long as the session does.
  Group(const Session& session, std::string_view name);
  ~Group();
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;

  const std::string& name() const;

  // Becomes a member, exactly once however often the request is sent. `id`: 1 to 64 bytes of
  // printable UTF-8 (GC6411); `payload`: up to 512 bytes (GC6412). Ok with its rank of now when the
  // session is a member under this id already. GC6401 under another id, GC6402 when another session
  // has the id, GC6403 when the group is full, GC6409 while a node of an older release is there.
  Result<GroupMembership> join(std::string_view id, std::string_view payload = {});
  Future<Result<GroupMembership>> join_async(std::string_view id, std::string_view payload = {});

  // Leaves the group. GC6404 when the session is no member.
  Status leave();
  Future<Status> leave_async();

  // Other words for this member, which make a new view. GC6404 when the session is no member.
  Status update(std::string_view payload);
  Future<Status> update_async(std::string_view payload);

  // Arrives at the barrier of this name and waits. Ok when it was released. GC6406 when others wait
  // for another size; GC6407 after the timeout, with who was missing. After GC4009 or GC5001 the
  // arrival may stand until the session ends.
  Status barrier(BarrierOptions options);
  Future<Status> barrier_async(BarrierOptions options);

 private:
  std::shared_ptr<SessionImpl> session_;
  std::string name_;
};

}  // namespace gcoord::client
