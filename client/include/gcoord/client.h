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
//
//  auto client = Client::connect({.endpoints = {"10.0.0.1:7400", "10.0.0.2:7400"}});
//  auto session = client.value().open_session({.ttl = 10s});
//  auto lock = session.value().acquire("jobs/train");
//  if (lock.ok()) { write_with(lock.value().fence()); }
#pragma once

#include "gcoord/access.h"
#include "gcoord/api.h"
#include "gcoord/election.h"
#include "gcoord/future.h"
#include "gcoord/health.h"
#include "gcoord/lease.h"
#include "gcoord/leases.h"
#include "gcoord/ledger.h"
#include "gcoord/limits.h"
#include "gcoord/members.h"
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

// A connection to one cluster, shared by a whole program. Movable and not copyable; moved from, it
// may only be destroyed or assigned to. Objects that it made may be destroyed before or after it.
//
// The blocking, future and callback forms of a call have the same arguments and the same errors.
// Every form copies its arguments. Unless its comment says otherwise, a blocking call returns by
// ClientOptions::request_timeout (GC4009); a wait of the options is added to that.
class GCOORD_API Client {
 public:
  // Receives one verdict, or the failure, on the client's thread.
  using CheckCallback = std::function<void(Result<Verdict>)>;
  // Receives the bytes of a snapshot, piece by piece (read_snapshot); a failure ends the reading.
  using SnapshotSink = std::function<Status(std::span<const std::byte>)>;

  // Returns when one node has welcomed us; the others are connected to in the background. When all
  // endpoints have failed, fails at once with GC3001 (see ClientOptions::wait_for_cluster).
  static Result<Client> connect(ClientOptions options);

  // As close().
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Ends the client, while other threads may use it: calls under way and later ones, of its
  // sessions and locks too, fail with GC4010; watches and streams of leaders end with that. The
  // sessions and leases that it opened and nobody detached are closed, which takes 0.2 s at most: a
  // node that has not heard of it by then lets them live for the rest of their TTL. Those of other
  // programs (attach_session) live on. No callback runs after it returns. Once; later calls return
  // OK, when it is done. GC4011 in a callback of the client or of one of its watches.
  Status close();

  // Opens a session, which keeps its locks alive until it is closed, destroyed, or lost, or its
  // client ends. GC1104 and GC1105 for a TTL outside of the cluster's bounds, GC6350
  // when a health check of the options fails.
  Result<Session> open_session(SessionOptions options);

  Future<Result<Session>> open_session_async(SessionOptions options);

  // Acquires a name in a session of its own (gcoord/lease.h), for programs that hold one name.
  // Errors are those of open_session and Session::acquire; after a failure nothing is left behind.
  Result<Lease> take_lease(std::string_view name, LeaseOptions options = {});
  Future<Result<Lease>> take_lease_async(std::string_view name, LeaseOptions options = {});

  // Makes a Session for a session that another program opened, for example to release its lock.
  // Asks no node, so it succeeds for a session that has ended, too. AttachOptions has the rules for
  // acquires through it.
  Result<Session> attach_session(AttachOptions options);

  // Checks whether a lock is held under this token, linearizably: the answer was true at some
  // moment between call and return. GC1107 for token 0, which is never granted.
  Result<Verdict> check(std::string_view name, std::uint64_t token);
  Future<Result<Verdict>> check_async(std::string_view name, std::uint64_t token);
  void check_async(std::string_view name, std::uint64_t token, CheckCallback callback);

  // Many checks in few messages; verdicts come in the order asked. Each is linearizable by itself.
  Result<std::vector<Verdict>> check_batch(std::span<const TokenCheck> checks);
  Future<Result<std::vector<Verdict>>> check_batch_async(std::span<const TokenCheck> checks);

  // Reads a lock from the leader of its shard, linearizably; with `waiters` its queue, too. GC6016
  // (NOT_FOUND) when the lock is neither held nor waited for.
  Result<LockDescription> get(std::string_view name, bool waiters = false);
  Future<Result<LockDescription>> get_async(std::string_view name, bool waiters = false);

  // Reads the leader of an election, linearizably. GC6101 (NOT_FOUND) when it has none, which is an
  // answer; GC5001 and GC4009 mean that the leader could not be determined.
  Result<Leader> leader(std::string_view name);
  Future<Result<Leader>> leader_async(std::string_view name);

  // Starts a watch (gcoord/watch.h). Returns when it has started: nothing that is decided after the
  // call is missed. GC6204 for options that name nothing or too much; when no node has started
  // it within request_timeout GC3001, or GC5001 where a minority of the nodes is connected. With a
  // callback its later errors come through that.
  Result<Watch> watch(WatchOptions options, Watch::Callback callback = {});

  // Starts a stream of the leaders of this election, the present leader first.
  Result<LeaderStream> observe(std::string_view name);

  // Reads the leader and the queue of candidates, linearizably. GC6101 when there is no leader.
  Result<ElectionView> candidates(std::string_view name);
  Future<Result<ElectionView>> candidates_async(std::string_view name);

  // Asks the leader to hand over to this candidate, and does not wait for the hand-over: a leader
  // that checks its queue (CampaignOptions::review) acts on the request with its next check. The
  // request stands for a few seconds and for this term; repeat it until the transfer has happened.
  // `epoch` 0: the term of the present leader. Errors: GC6101 no leader, GC6110 another term,
  // GC6111 no such candidate waits.
  Status ask_transfer(std::string_view name, std::uint64_t session_id, std::uint64_t epoch = 0);
  Future<Status> ask_transfer_async(std::string_view name,
                                    std::uint64_t session_id,
                                    std::uint64_t epoch = 0);

  // Takes a lock from its holders by force; the next in its queue gets it. The former holder is
  // notified (SessionOptions::on_lost), and the log records BreakOptions::who and reason. For
  // operators. GC6002 when nobody holds it, GC6003 when the token is not that of a hold, GC6034
  // without who or reason, GC6560 without a token where its holder is hidden.
  Result<BrokenLock> break_lock(std::string_view name, BreakOptions options);
  Future<Result<BrokenLock>> break_lock_async(std::string_view name, BreakOptions options);

  // Moves the lock of a name to another shard while it is held and waited for, and comes back when
  // it has arrived: the holder keeps its hold and token, the queue its order. Libraries that know
  // of moves learn once where the lock is. Plain holds and waits only, at most 1,024 of these.
  // Asked again it goes on with a move that was begun. For operators. Errors: GC6053, GC6054,
  // GC6052 on resident nodes of earlier releases, GC1112 for no shard.
  Status move_lock(std::string_view name, std::uint32_t to_shard);
  Future<Status> move_lock_async(std::string_view name, std::uint32_t to_shard);

  // Reads the locks of all nodes, page by page and node by node. The first page waits until every
  // node is connected or has failed to answer; LockPage::complete says whether all have answered.
  // GC5001 when less than a majority of the nodes is connected.
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
  // name (Freshness::index, LockDescription::acquired_index). The time that its holder had left is
  // not known. Any node that has come there gives the same answer; node_id 0: the shard's leader,
  // and where that lacks the past each other node until one has it. GC6320 when none, or not the
  // named one, has kept the shard's log from its beginning on, GC6321 when the log has not come to
  // the index, GC6322 when it lies behind too many entries, GC6323 from nodes that cannot.
  Result<LockReading> read_at(std::string_view name,
                              std::uint64_t index,
                              std::uint32_t node_id = 0);
  Future<Result<LockReading>> read_at_async(std::string_view name,
                                            std::uint64_t index,
                                            std::uint32_t node_id = 0);

  // Reads a page of the locks of one node: Serializable, Bounded or Monotonic. The cursor belongs
  // to the node that answered, ReadPage::node_id; name it in ReadOptions::node_id for the next
  // page.
  Result<ReadPage> read_list(const ListOptions& list, const ReadOptions& options);

  // The log positions that this client has seen by its writes and by the reads above, for another
  // client's ReadOptions::after. Asks no node.
  std::vector<Position> positions() const;

  // A session that is registered at once, under an id of the caller's choice if wanted
  // (gcoord/leases.h).
  Result<Session> grant_session(GrantOptions options);
  Future<Result<Session>> grant_session_async(GrantOptions options);

  // Reads the state of any session from the nodes, with its locks' names. A session that has ended
  // is an answer: SessionDescription::alive is false.
  Result<SessionDescription> session(std::uint64_t session_id);
  Future<Result<SessionDescription>> session_async(std::uint64_t session_id);

  // Renews any session once, whoever opened it. Of one that is gone: SessionDescription::alive is
  // false. Waits for a majority of the nodes within the request timeout; GC5007 without one.
  Result<SessionDescription> keep_alive_once(std::uint64_t session_id);
  Future<Result<SessionDescription>> keep_alive_once_async(std::uint64_t session_id);

  // Reads the sessions of all nodes, page by page and node by node. SessionsPage::complete says
  // whether all have answered. GC5001 when less than a majority of the nodes is connected.
  Result<SessionsPage> list_sessions(const SessionListOptions& options);

  // Reads who is behind sessions, at most 1000 of them, and behind the holders of a name and those
  // who wait for it. Sessions without a note, and those that this client may not see
  // (session.read.all, or lock.read.details of the name), are left out. GC4005 by nodes of earlier
  // releases.
  Result<std::vector<SessionOrigin>> session_origins(const std::vector<std::uint64_t>& sessions);
  Result<std::vector<SessionOrigin>> holder_origins(const std::string& name);
  Future<Result<std::vector<SessionOrigin>>> session_origins_async(
      const std::vector<std::uint64_t>& sessions);
  Future<Result<std::vector<SessionOrigin>>> holder_origins_async(const std::string& name);

  // Reads a node's description of itself, of some of its shards, or of one shard, as JSON. GC3001
  // when this node cannot be reached; `first` and `count` select shards by number.
  Result<std::string> node_status(std::uint32_t node_id);
  Future<Result<std::string>> node_status_async(std::uint32_t node_id);
  Result<std::string> shard_list(std::uint32_t node_id, std::uint32_t first, std::uint32_t count);
  Result<std::string> shard_show(std::uint32_t node_id, std::uint32_t shard);
  // The deadlocks that this node has ended recently as the coordinator
  // (AcquireOptions::detect_deadlock), as JSON.
  Result<std::string> lock_deadlocks(std::uint32_t node_id);

  // The levels of one node's log by component, as JSON, after they were changed as asked; a change
  // holds until the node ends. GC1001 for levels that the node does not know, GC4005 by nodes of
  // releases that cannot.
  Result<std::string> log_levels(std::uint32_t node_id, const LogLevelChange& change = {});

  // Reads the cluster view: which nodes the cluster has, as it decided them. Any node may answer,
  // with a view that may be older than another node's, never a different one of that epoch. The
  // blocking form returns by options.wait and the time of a request. GC6601 while there is none
  // yet, GC6603 when the node does not keep the view after `after` any more, GC6604 by nodes
  // with --turn resident of earlier releases, GC4005 by nodes of releases that have no views.
  Result<MembershipView> view(const ViewOptions& options = {});
  Future<Result<MembershipView>> view_async(const ViewOptions& options);

  // Changes what is said of a node, in one entry of the ledger, and returns the view that this
  // made. GC6602 when the view has another epoch than update.view, GC6611 for a node that it does
  // not have, GC6612 for one that has left, GC6613 and GC6614 for the name, GC6615 for a label:
  // nothing is changed then.
  Result<MembershipView> update_member(const MemberUpdate& update);
  Future<Result<MembershipView>> update_member_async(const MemberUpdate& update);

  // Invites a node: the cluster gives it an id, and whoever has the token joins as that node. A
  // repetition by the client is one change. GC6602 when the view has another epoch than
  // addition.view; GC6611, GC6612 and GC6622 for the node to replace, GC6613 to GC6615 for name and
  // labels, GC6617 and GC6618 for role and weight, GC6627 when there are 8 nodes, GC6628 while a
  // node is of a release whose members cannot change: nothing is changed then.
  Result<ChangedMember> add_member(const MemberAddition& addition);
  Future<Result<ChangedMember>> add_member_async(const MemberAddition& addition);

  // Leads a node on its way. Errors as of add_member, and GC6616 for one whose state does not allow
  // it, GC6623 for the last voter, GC6624 for one that lags, GC6625 where a quorum of live nodes
  // would be lost, GC6626 when there are 7 voters.
  Result<ChangedMember> change_member(const MemberChange& change);
  Future<Result<ChangedMember>> change_member_async(const MemberChange& change);

  // How far the shards have come with the newest view, as the leader of shard 0 has heard it.
  Result<MemberProgress> member_progress();
  Future<Result<MemberProgress>> member_progress_async();

  // Users and roles, and whether rights are checked. GC6501 and GC6503 for a name that nobody has,
  // GC6517 by older nodes with --turn resident, GC4005 by nodes of releases without them.
  Result<AccessReport> access(const AccessQuery& query);
  Future<Result<AccessReport>> access_async(const AccessQuery& query);

  // Changes them, in one entry of the ledger, and returns their state without rows. A repetition by
  // the client is one change. GC6501 to GC6515 say what does not allow it, GC6512 that the epoch is
  // another than change.epoch, GC6516 that this connection proves no administrator, GC6518 that a
  // node is of a release without users and roles: nothing is changed then.
  Result<AccessReport> change_access(const AccessChange& change);
  Future<Result<AccessReport>> change_access_async(const AccessChange& change);

  // Limits of clients, or who is denied the cluster. GC6588 by older --turn resident, GC4005
  // by nodes of releases without them.
  Result<LimitsReport> limits(const LimitsQuery& query);
  Future<Result<LimitsReport>> limits_async(const LimitsQuery& query);

  // Changes them, in one entry of the ledger, and returns their state without rows. A repetition by
  // the client is one change. GC6583 to GC6585 and GC6591 to GC6593 say what does not allow it,
  // GC6585 that there are too many, GC6586 that the epoch is another than change.epoch, GC6587 that
  // a node is of a release without them: nothing is changed then.
  Result<LimitsReport> change_limits(const LimitsChange& change);
  Future<Result<LimitsReport>> change_limits_async(const LimitsChange& change);

  // The alarms that one node has raised about the cluster, after those that match were disarmed, if
  // change.disarm says so. Each node has its own. GC6641 when none matches, GC4005 by nodes of
  // releases without them.
  Result<std::vector<ClusterAlarm>> alarms(std::uint32_t node_id, const AlarmChange& change = {});
  Future<Result<std::vector<ClusterAlarm>>> alarms_async(std::uint32_t node_id,
                                                         const AlarmChange& change);

  // The node id of the leader for each of `count` shards from `first`, in the view of one node; 0:
  // not known. The client remembers them, which spares later requests a redirect.
  Result<std::vector<std::uint32_t>> leader_map(std::uint32_t first, std::uint32_t count);
  Future<Result<std::vector<std::uint32_t>>> leader_map_async(std::uint32_t first,
                                                              std::uint32_t count);

  // Reads a snapshot of one node, in the bytes of its file (docs/reference/snapshot_format.md).
  // on_bytes is called on this thread, piece by piece in order; a failure of its own ends the
  // reading. Each piece may take as long as a request, and preparing the snapshot does not count.
  // The content is not checked here; the reader of the file does that. GC8309 when the node sends
  // its maximum of snapshots already.
  Status read_snapshot(std::uint32_t node_id, const SnapshotSink& on_bytes);

  // Deletes old entries of one node's ledger; returns when they are gone for good. It may take as
  // long as the node needs to scan its shards. GC8210 while the node is pruning already, GC8211 for
  // an order that is not valid. While rights are checked GC6747 without an order with these bounds
  // (prune_orders), and GC6748 while that waits.
  Result<LedgerPruned> prune_ledger(std::uint32_t node_id, const LedgerPruning& order);

  // Makes, confirms, cancels or lists orders to prune; returns all that there are then. GC6747
  // where there is none with these bounds, GC6749 for one that is there already, for who confirms
  // their own, and for who has proven nobody; GC6746 while a node is of a release without orders,
  // GC4005 by such a node.
  Result<PruneOrdersReport> prune_orders(const PruneOrderChange& change);

  // Waits until every node of the cluster is connected; GC3001 at the timeout.
  Status wait_for_all_nodes(std::chrono::milliseconds timeout);
  Future<Status> wait_for_all_nodes_async(std::chrono::milliseconds timeout);

  // Whether the calling thread is the client's own one, where blocking functions fail with GC4011.
  bool in_callback() const;

  // The present time of the client's clock: the argument for Election::is_leader(now) and
  // Lease::valid(now).
  TimePoint now() const;

  // Asks no node: what is known of the cluster, and counters. After close() they are of its end.
  ClusterView cluster() const;
  ClientStatistics statistics() const;

  // Asks no node: who this client is to the nodes that it has logged in to with
  // ClientOptions::credentials, and its token; "anonymous" without them, also with a certificate.
  Identity identity() const;

 private:
  friend class GroupViews;
  friend class RendezvousStates;
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::client
