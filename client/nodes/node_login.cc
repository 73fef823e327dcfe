#include "client/nodes/node_login.h"

#include "client/net/failure.h"
#include "client/net/time_never.h"
#include "common/random.h"
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

// A renewal that could not be, or was refused for now, is tried again after this; and a node that
// believes a login for a moment only is not shown it all the time.
constexpr TimePoint kRenewalPause = std::chrono::milliseconds{500};
constexpr TimePoint kThrottledPause = std::chrono::seconds{5};

// At a moment of the entry's own, from 55 to 75 hundredths of the time: nodes renew tokens from
// half their time on.
TimePoint renewal_after(const NodeEntry& entry, TimePoint life) {
  const std::uint64_t draw = mix64(entry.breaker_options.seed + entry.login.turn) % 20;
  return std::max(kRenewalPause, life * static_cast<int>(55 + draw) / 100);
}

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

// The same, or it shows one again, and has had no answer yet.
bool renews_by_password(const NodeEntry& entry, TimePoint now) {
  return shows_password(entry) || (entry.phase == NodeEntry::Phase::Ready &&
                                   entry.login.by_password && now < entry.login.renew_at);
}

void renew(NodeEntry& entry, const Renewal& at) {
  auto proof = at.login.next(entry.connection->privacy());
  entry.login.renew_at = at.now + kRenewalPause;
  if (!proof.ok()) {
    return;  // A file that somebody writes just now.
  }
  if (proof.value().by_password && std::ranges::any_of(at.entries, [&at](const auto& each) {
        return renews_by_password(*each, at.now);
      })) {
    return gcoord::wipe(proof.value().payload);
  }
  show(entry, std::move(proof).value());
  entry.login.renew_at = at.now + at.patience;
  entry.connection->flush();
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

namespace {

Login::Outcome take_answer(NodeEntry& entry, const LoginReply& reply, Login& login) {
  const Login::Outcome outcome =
      login.take({reply.slot, reply.payload, reply.now, entry.login.turn, entry.login.by_password});
  entry.login.by_password = false;
  entry.login.renew_at = outcome.status.ok() && outcome.life != TimePoint{}
                             ? reply.now + renewal_after(entry, outcome.life)
                             : kTimeNever;
  return outcome;
}

}  // namespace

bool take_login(NodeEntry& entry, const LoginReply& reply, Login& login) {
  if (!is_login(reply.slot)) {
    return false;
  }
  const Login::Outcome outcome = take_answer(entry, reply, login);
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

void renew_logins(const Renewal& at) {
  // By number: what a connection that closes teaches may add entries.
  for (std::size_t k = 0; k < at.entries.size(); ++k) {
    NodeEntry& entry = *at.entries[k];
    if (entry.phase == NodeEntry::Phase::Ready && at.now >= entry.login.renew_at) {
      renew(entry, at);
    }
  }
}

void take_renewal(NodeEntry& entry, const LoginReply& reply, Login& login) {
  const Login::Outcome outcome = take_answer(entry, reply, login);
  const auto code = static_cast<protocol::ErrorCode>(outcome.status.detail());
  if (outcome.again) {
    entry.login.renew_at = reply.now;
  } else if (code == protocol::ErrorCode::AuthenticationThrottled) {
    entry.login.renew_at = reply.now + kThrottledPause;  // Others of this address may have erred.
  } else if (!outcome.status.ok() && protocol::is_passing(code)) {
    entry.login.renew_at = reply.now + kRenewalPause;
  }
}

TimePoint next_renewal(const NodeEntries& entries) {
  TimePoint next = kTimeNever;
  for (const auto& entry : entries) {
    if (entry->phase == NodeEntry::Phase::Ready) {
      next = std::min(next, entry->login.renew_at);
    }
  }
  return next;
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
