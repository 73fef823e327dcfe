// Watches: being told what happens to names, without asking again and again.
//
// A watch is about one name, all names with a prefix, or what one session holds and waits for. What
// one entry of a shard's log did comes as one batch; (shard, revision) is the entry's place. The
// batches of a shard come in the order of revisions, each once, none left out, whatever happens to
// connections and leaders meanwhile: the library goes on at another node from the last revision of
// each shard. Between shards there is no order, but for a watch of one name: it follows its lock
// where that is moved to another shard, and tells what happens in that order.
//
//   auto watch = client.watch({.name = "jobs/train"});
//   while (auto batch = watch.value().next(); batch.ok()) { ... }
//
// The past that nodes keep is bounded: GC6201 may be the answer to revisions() of a watch of
// yesterday. Functions may be called from any thread, next() by one at a time.
//
// With an event loop: poll for Watch::event_fd(), then take batches with next(0ms) until it returns
// nothing.
#pragma once

#include "gcoord/api.h"
#include "gcoord/status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::client {

class WatchState;

// Kind of an event of a watch. Never renumber: the values travel in the client protocol.
enum class EventKind : std::uint8_t {
  Granted = 1,       // The session holds the name under the token.
  Released = 2,      // It gave the name back, or closed its session.
  Expired = 3,       // Its session ran out.
  Broken = 4,        // An operator took the name from it.
  ValueChanged = 5,  // The holder left another value with the name.
  Waiting = 6,       // The session stands in line; only with WatchOptions::waiters.
  Left = 7,          // It does so no more and was not granted the name; the same.
};

// "granted" and the like.
GCOORD_API const char* event_name(EventKind kind);

// Kind of the state before an event. Never renumber.
enum class PreviousKind : std::uint8_t {
  Unknown =
      0,  // Nobody asked with WatchOptions::previous, or the node is of a release that cannot.
  Nothing = 1,  // The event took no hold's place: the name was free for it, or it is of a waiter.
  Hold = 2,
};

// "unknown", "nothing", "hold".
GCOORD_API const char* previous_name(PreviousKind kind);

// The hold that an event ended or changed, as it was before. Of Granted it is the hold whose place
// this one took: that ended with the same command, the last of several; or, where a held lock has
// come from another shard, the same hold as there.
struct PreviousHold {
  PreviousKind kind = PreviousKind::Unknown;
  std::uint64_t token = 0;  // These of a Hold.
  std::uint64_t session_id = 0;
  std::string value;  // Of its holder, for others to read.
};

// One event of a watch: a change of one name by one log entry.
struct WatchEvent {
  EventKind kind{};
  std::string name;
  std::uint64_t token = 0;  // Of the hold that the event is about; 0 of a waiter.
  std::uint64_t session_id = 0;
  std::string value;      // Of Granted and ValueChanged: what the holder left with the name.
  PreviousHold previous;  // With WatchOptions::previous.

  // This client may not see whose it is (watch.details): session_id is kHiddenSession
  // (gcoord/types.h), and the token, the value and the hold before are left out.
  bool hidden = false;
};

// A position in a shard's log; the revision of an event is the index of its log entry.
struct Revision {
  std::uint32_t shard = 0;
  std::uint64_t revision = 0;
};

// All changes of one log entry to the watched names.
struct WatchBatch {
  std::uint32_t shard = 0;
  std::uint64_t revision = 0;
  std::vector<WatchEvent> events;
};

// Options of Client::watch.
struct WatchOptions {
  // Exactly one of these three. An empty prefix stands for all names.
  std::string name{};
  std::optional<std::string> prefix{};
  std::uint64_t session_id = 0;

  bool waiters = false;  // Also who begins and ends to wait.

  // Only events of these kinds, whatever `waiters` says; none: all. The node leaves the others out,
  // and where it is of a release that cannot, the library does. Events that are left
  // out count in revisions(), with the next progress; a batch without any event is not delivered.
  std::vector<EventKind> kinds{};

  // Also what was held before each event. Nodes of a release that cannot are left for another, for
  // one round over all of them; then PreviousKind::Unknown says that it is not known.
  bool previous = false;

  // The first revision wanted, by shard; shards that are not named begin now. The
  // revisions() of an earlier watch, plus one each, go on where that ended.
  std::vector<Revision> from{};

  // The same for the shard of `name`, for which nobody need know the shard. 0: from now on.
  std::uint64_t from_revision = 0;

  // How often revisions() is brought up to date where nothing happens.
  std::chrono::milliseconds progress_interval{10'000};

  // Batches that nobody has taken yet. Beyond it the node is asked to stop, and later to go on.
  std::size_t queue_bytes_max = std::size_t{8} << 20;
};

// A watch of names, made by Client::watch. Movable and not copyable; destroying it ends the watch.
class GCOORD_API Watch {
 public:
  // Batches as they come, on the client's thread for watches, or at last why none comes any more.
  // Must return soon. Not called any more when close() or the destructor has returned.
  using Callback = std::function<void(const Result<WatchBatch>&)>;

  // Ends it.
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;

  // The next batch, when there is one. Not of a watch with a callback (GC6204).
  // Other errors end the watch: GC6201 (first_revision() says from where on there are events),
  // GC6207 after close(), GC4010 when the client was closed, and what is wrong with the options.
  Result<WatchBatch> next();

  // The same, but nothing when there is none in time.
  Result<std::optional<WatchBatch>> next(std::chrono::milliseconds timeout);

  // Ends the watch: next() returns GC6207, also in a thread that waits in it. From any thread.
  void close();

  // A descriptor for poll(), epoll or another event loop: it is readable exactly while next(0)
  // would not come back empty, so while a batch waits, or why none comes any more; from close() on
  // for ever. Made by the first call, and the same for every later one; a watch that is not asked
  // for it has none. Take with next(0) when it is readable, one batch each time or all of them: it
  // stays readable while there are more, and with edges there is one for each batch that comes.
  //
  // It is the watch's: do not close it, and write nothing to it. It need not be read; who reads it
  // (8 bytes, which does not block) calls next(0) then, which makes it readable again if anything
  // is left. It is closed with this object, not by close(): take it out of the event loop before
  // that, since its number may be another file's then. A child of fork() has a copy, to close and
  // not to read; exec() closes it.
  //
  // From any thread. GC6204 of a watch with a callback; ResourceExhausted when the process may open
  // no more files, and the watch goes on.
  Result<int> event_fd();

  // By shard, up to where everything was taken by next(), or told to the callback. Of a watch of a
  // name only one: where its lock is, or was when it was heard of last.
  std::vector<Revision> revisions() const;

  // Asks the node how far it is, now and not at the interval. The answer is by shard the place up
  // to which everything is with this client: taken, told to the callback, or to be had from next()
  // without waiting. It is what that node has applied, which may be a message behind the leader; a
  // write has been seen when the answer is not below its index (Client::positions). GC4009 when
  // there was no answer in time, which none comes while the queue is full; GC4011 in a watch's
  // callback; what ended the watch.
  Result<std::vector<Revision>> progress(std::chrono::milliseconds timeout);

  // After GC6201: the shard and the first of its revisions that are available; zeros otherwise.
  Revision first_revision() const;

 private:
  friend class Client;
  explicit Watch(std::shared_ptr<WatchState> state);
  void end();

  std::shared_ptr<WatchState> state_;
};

// The leaders of an election, one after the other (Client::observe): an epoch never comes twice,
// and never after a later one. A leader that was followed at once by another may be missing from a
// stream that was cut off in between for too long.
class GCOORD_API LeaderStream {
 public:
  // One term of a leader.
  struct Office {
    std::uint64_t session_id = 0;
    std::uint64_t epoch = 0;  // 0 where hidden.
    std::string value;        // Of the leader, for others to read.

    // A term of whom this client may not see (lock.read.details, watch.details): session_id is
    // kHiddenSession, epoch 0. Such a term may come twice, since nothing tells it from the next.
    bool hidden = false;
  };

  ~LeaderStream();
  LeaderStream(LeaderStream&&) noexcept;
  LeaderStream& operator=(LeaderStream&&) noexcept;

  // Waits for the next leader; the present one comes first, if there is one. With a timeout it
  // returns nothing when none comes in time. Errors are those of Client::watch and Client::get.
  Result<Office> next();
  Result<std::optional<Office>> next(std::chrono::milliseconds timeout);

  // Ends the stream: next() returns GC6207. From any thread.
  void close();

 private:
  friend class Client;
  class Impl;
  explicit LeaderStream(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::client
