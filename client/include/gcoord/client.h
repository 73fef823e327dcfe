// The client of a gcoord cluster: connections to all nodes, leader discovery, retries.
//
// One Client serves a whole program. It owns one thread that does all input and output; every
// function may be called from any thread. Calls come in three forms:
//
//   blocking    Result<T> get(...)              returns by its deadline, always
//   future      Future<...> check_async(...)    to wait for, to ask, or to co_await
//   callback    check_async(..., callback)      runs once, on the client's thread
//
// A callback must return soon. Blocking functions called from a callback fail with GC4011 instead
// of waiting for themselves. Requests that change something carry (session, sequence) and are
// executed exactly once however often they are sent. Requests queued while a write is under way
// leave together in one frame, so thousands in flight cost little each.
//
// Errors: GC3001 when no node can be reached (with the evidence per endpoint), GC4009 when the
// deadline passed, GC5001 while a shard has no leader; the rest in docs/reference/errors.md.
#pragma once

#include "gcoord/api.h"
#include "gcoord/election.h"
#include "gcoord/future.h"
#include "gcoord/health.h"
#include "gcoord/lease.h"
#include "gcoord/leases.h"
#include "gcoord/ledger.h"
#include "gcoord/multi_lock.h"
#include "gcoord/options.h"
#include "gcoord/reads.h"
#include "gcoord/session.h"
#include "gcoord/status.h"
#include "gcoord/types.h"
#include "gcoord/watch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::client {

class GCOORD_API Client {
 public:
  using CheckCallback = std::function<void(Result<Verdict>)>;
  using SnapshotSink = std::function<Status(std::span<const std::byte>)>;

  // Returns when one node has welcomed us; the others are connected to in the background. When all
  // endpoints have failed, fails at once with GC3001 (see ClientOptions::wait_for_cluster).
  static Result<Client> connect(ClientOptions options);

  // Closes its sessions as Session::close does, without waiting for long, then ends the thread.
  // Outstanding calls fail with GC4010.
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // A session keeps its locks alive until it is closed, destroyed, or lost. It must not outlive the
  // client.
  Result<Session> open_session(SessionOptions options);

  Future<Result<Session>> open_session_async(SessionOptions options);

  // Takes a name in a session of its own (gcoord/lease.h). Errors are those of open_session and
  // Session::acquire.
  Result<Lease> take_lease(std::string_view name, LeaseOptions options = {});
  Future<Result<Lease>> take_lease_async(std::string_view name, LeaseOptions options = {});

  // Speaks for a session that another program opened, for example to release its lock. Asks no
  // node.
  Result<Session> attach_session(AttachOptions options);

  // Whether a lock is held under this token, linearizably.
  Result<Verdict> check(std::string_view name, std::uint64_t token);
  Future<Result<Verdict>> check_async(std::string_view name, std::uint64_t token);
  void check_async(std::string_view name, std::uint64_t token, CheckCallback callback);

  // Many checks in few messages; verdicts come in the order asked. Each is linearizable by itself.
  Result<std::vector<Verdict>> check_batch(std::span<const TokenCheck> checks);
  Future<Result<std::vector<Verdict>>> check_batch_async(std::span<const TokenCheck> checks);

  // GC6016 (NOT_FOUND) when the lock is neither held nor waited for.
  Result<LockDescription> get(std::string_view name, bool waiters = false);
  Future<Result<LockDescription>> get_async(std::string_view name, bool waiters = false);

  // Who leads in the election of this name, linearizably. GC6101 (NOT_FOUND) when nobody does,
  // which is an answer; GC5001 and GC4009 say that it could not be found out.
  Result<Leader> leader(std::string_view name);
  Future<Result<Leader>> leader_async(std::string_view name);

  // Begins to watch (gcoord/watch.h). Returns when the watch has begun: nothing that is decided
  // after the call is missed. GC6204 for options that name nothing or too much; GC3001 when no node
  // has begun it within request_timeout. With a callback its errors come through that, too.
  Result<Watch> watch(WatchOptions options, Watch::Callback callback = {});

  // Who leads in the election of this name from now on, the present leader first.
  Result<LeaderStream> observe(std::string_view name);

  // The same with the line of candidates.
  Result<ElectionView> candidates(std::string_view name);
  Future<Result<ElectionView>> candidates_async(std::string_view name);

  // Asks whoever leads to hand over to this candidate, and waits for nothing: a leader that looks
  // at its line (CampaignOptions::review) does so with its next look. The ask stands for a few
  // seconds and for this term; ask again until it has happened. `epoch` 0: of whoever leads now.
  // Errors: GC6101 nobody leads, GC6110 another term, GC6111 no such candidate waits.
  Status ask_transfer(std::string_view name, std::uint64_t session_id, std::uint64_t epoch = 0);
  Future<Status> ask_transfer_async(std::string_view name,
                                    std::uint64_t session_id,
                                    std::uint64_t epoch = 0);

  // Takes a lock from its holders by force: the next in its queue has it. The former holder hears
  // of it (SessionOptions::on_lost), and the log keeps who did it and why. For operators. GC6002
  // when nobody holds it, GC6003 when the token is not (any more) the one it is held under.
  Result<BrokenLock> break_lock(std::string_view name, BreakOptions options);
  Future<Result<BrokenLock>> break_lock_async(std::string_view name, BreakOptions options);

  // Moves the lock of a name to another shard while it is held and waited for, and comes back when
  // it has arrived: the holder keeps its hold and token, the queue its order. Whoever uses the lock
  // is told once where it is, by a library that knows of it. Plain holds and waits only, at most
  // 1,024 of these. Asked again it goes on with a move that was begun. For operators. Errors:
  // GC6053, GC6054, GC6052 on nodes whose turn runs on a device, GC1112 for no shard.
  Status move_lock(std::string_view name, std::uint32_t to_shard);
  Future<Status> move_lock_async(std::string_view name, std::uint32_t to_shard);

  // The locks of all nodes, page by page and node by node. The first page waits until every node is
  // connected or has failed to answer; LockPage::complete says whether all were asked.
  Result<LockPage> list(const ListOptions& options);

  // The same with a freshness of the caller's choice (gcoord/reads.h), each with the log index that
  // it shows. Needs nodes that know of it (GC4005). A batch may name locks of any shards; it fails
  // as a whole when one of them cannot be read so.
  Result<LockReading> read(std::string_view name, const ReadOptions& options);
  Result<VerdictReading> read_check(std::string_view name,
                                    std::uint64_t token,
                                    const ReadOptions& options);
  Result<BatchReading<std::optional<LockDescription>>> read_batch(
      std::span<const std::string> names, const ReadOptions& options);
  Result<BatchReading<Verdict>> read_check_batch(std::span<const TokenCheck> checks,
                                                 const ReadOptions& options);
  Future<Result<LockReading>> read_async(std::string_view name, const ReadOptions& options);
  Future<Result<VerdictReading>> read_check_async(std::string_view name,
                                                  std::uint64_t token,
                                                  const ReadOptions& options);
  Future<Result<BatchReading<std::optional<LockDescription>>>> read_batch_async(
      std::span<const std::string> names, const ReadOptions& options);
  Future<Result<BatchReading<Verdict>>> read_check_batch_async(std::span<const TokenCheck> checks,
                                                               const ReadOptions& options);

  // A lock as it was when its shard's log had come to an index, which earlier readings and locks
  // name (Freshness::index, LockDescription::acquired_index). What was left of its holder's time is
  // not known. Any node that has come there gives the same answer; node_id 0: the shard's leader.
  // GC6320 when the node has not kept the shard's log from its beginning on, GC6321 when the log
  // has not come to the index, GC6322 when it lies behind too many entries, GC6323 from nodes that
  // cannot.
  Result<LockReading> read_at(std::string_view name,
                              std::uint64_t index,
                              std::uint32_t node_id = 0);
  Future<Result<LockReading>> read_at_async(std::string_view name,
                                            std::uint64_t index,
                                            std::uint32_t node_id = 0);

  // A page of what one node holds: Serializable, Bounded or Monotonic. The cursor is that node's.
  Result<ReadPage> read_list(const ListOptions& list, const ReadOptions& options);

  // How far this client has seen, by its writes and by the reads above.
  std::vector<Position> positions() const;

  // A session that is registered at once, under an id of the caller's choice if wanted
  // (gcoord/leases.h).
  Result<Session> grant_session(GrantOptions options);
  Future<Result<Session>> grant_session_async(GrantOptions options);

  // What the cluster knows of a session, its locks' names too. One that is gone is an answer.
  Result<SessionDescription> session(std::uint64_t session_id);
  Future<Result<SessionDescription>> session_async(std::uint64_t session_id);

  // Renews any session once, whoever opened it. Of one that is gone: SessionDescription::alive is
  // false.
  Result<SessionDescription> keep_alive_once(std::uint64_t session_id);
  Future<Result<SessionDescription>> keep_alive_once_async(std::uint64_t session_id);

  // Sessions page by page and node by node.
  Result<SessionsPage> list_sessions(const SessionListOptions& options);

  // What a node says of itself, as JSON.
  Result<std::string> node_status(std::uint32_t node_id);
  Result<std::string> shard_list(std::uint32_t node_id, std::uint32_t first, std::uint32_t count);
  Result<std::string> shard_show(std::uint32_t node_id, std::uint32_t shard);
  // The deadlocks that it found lately, while it led shard 0 (AcquireOptions::detect_deadlock).
  Result<std::string> lock_deadlocks(std::uint32_t node_id);

  // The leader's node id for each of count shards from `first`, as one node believes; 0: not known.
  // The client remembers them, which spares later requests a redirect.
  Result<std::vector<std::uint32_t>> leader_map(std::uint32_t first, std::uint32_t count);

  // Reads a snapshot of what one node holds, in the bytes of its file
  // (docs/reference/snapshot_format.md). on_bytes is called on this thread, piece by piece in
  // order; a failure of its own ends the reading. Each piece may take as long as a request; a node
  // that is still preparing one says so. Whether the whole is right, its reader finds out: nothing
  // is checked here.
  Status read_snapshot(std::uint32_t node_id, const SnapshotSink& on_bytes);

  // Has one node let go of old entries of its ledger; returns when they are gone for good. It may
  // take as long as the node has to look through its shards. GC8210 while it does so already,
  // GC8211 for an order that cannot be.
  Result<LedgerPruned> prune_ledger(std::uint32_t node_id, const LedgerPruning& order);

  // Returns when every node of the cluster is connected, or GC3001 at the timeout.
  Status wait_for_all_nodes(std::chrono::milliseconds timeout);

  // Whether this is the client's own thread, where blocking functions fail with GC4011.
  bool in_callback() const;

  // The client's clock: what Election::is_leader(now) and Lease::valid(now) are asked with.
  TimePoint now() const;

  ClusterView cluster() const;
  ClientStatistics statistics() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::client
