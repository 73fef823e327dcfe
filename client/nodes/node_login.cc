#include "client/nodes/node_login.h"

#include "client/net/failure.h"
#include "common/wipe.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gcoord::client {
namespace {

// A node that refused the login for what it is is not asked again for so long.
constexpr TimePoint kRefusedRest = std::chrono::seconds{30};

// An attachment for each session in so long: secrets are kept for days.
constexpr TimePoint kAttachedFor = std::chrono::hours{1};

}  // namespace

bool has_identities(const protocol::Welcome& welcome) {
  return (welcome.features & static_cast<std::uint64_t>(protocol::Feature::Identities)) != 0;
}

bool is_login(const protocol::ReplySlot& slot) {
  return slot.kind == protocol::RequestKind::Authenticate && slot.request_id == 0;
}

namespace {

void show(NodeEntry& entry, Login::Proof proof) {
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::Authenticate;
  entry.connection->send(slot, proof.payload);
  gcoord::wipe(proof.payload);
  entry.login = {.sent = true, .by_password = proof.by_password, .turn = proof.turn};
}

bool shows_password(const NodeEntry& entry) {
  return entry.phase == NodeEntry::Phase::Connecting && entry.login.by_password;
}

}  // namespace

void log_in(NodeEntry& entry, const NodeEntries& entries, const Login& login) {
  auto proof = login.next(entry.connection->privacy());
  if (!proof.ok()) {
    return entry.connection->close(proof.status());
  }
  entry.login = {};
  if (proof.value().by_password &&
      std::ranges::any_of(entries, [](const auto& each) { return shows_password(*each); })) {
    gcoord::wipe(proof.value().payload);
    entry.login.waits = true;
    return;
  }
  show(entry, std::move(proof).value());
  entry.connection->flush();
}

void resume_logins(const NodeEntries& entries, const Login& login) {
  for (const auto& entry : entries) {
    if (entry->phase == NodeEntry::Phase::Connecting && entry->login.waits) {
      log_in(*entry, entries, login);
    }
  }
}

void log_in_early(NodeEntry& entry, const Login& login) {
  if (auto proof = login.early(entry.connection->privacy()); !proof.payload.empty()) {
    show(entry, std::move(proof));
  }
}

bool take_login(NodeEntry& entry, const LoginReply& reply, Login& login) {
  if (!is_login(reply.slot)) {
    return false;
  }
  const Login::Outcome outcome =
      login.take({reply.slot, reply.payload, reply.now, entry.login.turn});
  entry.login.by_password = false;
  if (outcome.again) {
    log_in(entry, reply.entries, login);
    return false;
  }
  if (!outcome.status.ok()) {
    const auto code = static_cast<protocol::ErrorCode>(outcome.status.detail());
    const bool passing = protocol::is_passing(code);
    entry.rests_until = passing ? reply.now : reply.now + kRefusedRest;
    entry.connection->close(
        numbered(passing ? protocol::ErrorCode::None : code, outcome.status.message()));
  }
  return outcome.status.ok();
}

void renew_login(Login& login, const NodeEntries& entries, TimePoint next_try) {
  login.put_off(next_try);
  constexpr auto kIdentities = static_cast<std::uint64_t>(protocol::Feature::Identities);
  for (const auto& entry : entries) {
    if (entry->phase == NodeEntry::Phase::Ready && (entry->features & kIdentities) != 0) {
      return log_in(*entry, entries, login);
    }
  }
}

void begin_attaching(NodeEntry& entry, TimePoint now) {
  entry.attached.clear();
  entry.attached_until = now + kAttachedFor;
}

void attach_anew_when_due(NodeEntry& entry, TimePoint now) {
  if (now >= entry.attached_until) {
    begin_attaching(entry, now);
  }
}

void attach_before_requests(NodeEntry& entry, const SessionKeyring& keyring) {
  entry.connection->set_before_send(
      [&entry, &keyring](const protocol::RequestSlot& slot, std::span<const std::byte> payload) {
        for (const auto& shown : keyring.before(slot, payload, entry.attached)) {
          entry.connection->send(shown.slot, shown.key.bytes());
        }
      });
}

}  // namespace gcoord::client
