// Audit in a node: who opened each session and who ordered what, for the ledger; and the requests
// of clients about who is behind a session.
//
// A session's note is made when the reply that opens it goes to its client, and where a connection
// of another principal attaches the session, or of a session that has no note yet: the node that
// opened it may have ended before its note was sent. Which clients get notes is --session-notes. An
// order's note is made as its handler gets the order, on the node that serves it. docs/adr/0124 has
// the reasons. One thread, the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/reply_sink.h"
#include "server/audit/machine.h"
#include "server/audit/note_queue.h"
#include "server/identities/connection_identity.h"
#include "server/platform/choices.h"
#include "server/requests/client_request.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

class NodeAudit final : public NoteListener {
 public:
  // All outlive it.
  struct Environment {
    ReplicatedLog& log;
    AuditMachine& machine;
    protocol::ReplySink& replies;
    ConnectionIdentities& connections;
    const locks::LockCpu& locks;
    MetricsRegistry& metrics;
    std::function<bool()> all_have;         // protocol::Feature::Audit
    std::function<std::uint64_t()> now_ms;  // Only grows.
  };

  struct Options {
    std::uint32_t shard_count = 1;
    SessionNotes mode = SessionNotes::Identified;
    std::function<std::uint64_t()> wall_ms;  // Unix time.
  };

  NodeAudit(const Environment& environment, const Options& options);
  ~NodeAudit() override;
  NodeAudit(const NodeAudit&) = delete;
  NodeAudit& operator=(const NodeAudit&) = delete;

  // Of sessions and orders from now on.
  void set_mode(SessionNotes mode) { options_.mode = mode; }

  // A reply goes to a connection that has opened a session, or registered it at its home. After the
  // session was attached to it.
  void on_opened(protocol::ConnectionId connection, const protocol::ReplySlot& reply);

  // Whether the session's note says that this principal is behind it; never of an anonymous one.
  bool is_behind(const security::Principal& principal, SessionId session) const;

  // The connection has shown the session's key.
  void on_attached(protocol::ConnectionId connection, SessionId session);

  // A request is about to be served. Only orders without a session matter.
  void on_request_served(const ClientRequest& request);

  // SessionDescribe or HolderDescribe.
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  void advance(std::uint64_t now_ms) { queue_.advance(now_ms); }

  std::uint64_t until_next_ms(std::uint64_t now_ms) const { return queue_.until_next_ms(now_ms); }

  // server/audit/machine.h
  void on_noted(ShardId shard, const security::AuditNote& note) override;
  void on_notes_message(NodeId from, std::span<const std::byte> message) override;

 private:
  // Nothing: the connection is gone, or gets no notes.
  std::optional<security::ClientOrigin> origin_of(protocol::ConnectionId connection) const;
  void add_session(protocol::ConnectionId connection, SessionId session, std::uint64_t due_ms);
  std::vector<security::KnownOrigin> origins_of(std::span<const SessionId> sessions) const;

  std::vector<SessionId> holders_of(const protocol::RequestSlot& request,
                                    std::string_view name) const;

  Environment env_;
  Options options_;
  NoteQueue queue_;
};

}  // namespace gcoord::server
