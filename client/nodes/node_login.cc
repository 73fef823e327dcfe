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

// One that has too many passwords to check, or has not heard of the newest users: besides the pause
// of the breaker, which grows.
constexpr TimePoint kBusyRest = std::chrono::milliseconds{100};

// One whose patience with this address is over: it takes another password every two seconds
// (server/identities/attempt_limits.h), and a refusal until then costs it nothing.
constexpr TimePoint kThrottledRest = std::chrono::seconds{2};

// It says nothing of what was shown: the node has no place, and may have one soon.
bool has_no_place(protocol::ErrorCode code) {
  return code == protocol::ErrorCode::ConnectionsExhausted ||
         code == protocol::ErrorCode::IdentityConnectionsFull;
}

// The node takes no request now, of whatever kind.
bool is_of_the_moment(protocol::ErrorCode code) {
  return has_no_place(code) || (protocol::is_passing(code) && !is_login_put_off(code));
}

TimePoint rest_after(protocol::ErrorCode refusal) {
  if (is_of_the_moment(refusal)) {
    return TimePoint{};  // The breaker alone pauses.
  }
  if (refusal == protocol::ErrorCode::AuthenticationThrottled) {
    return kThrottledRest;
  }
  return is_login_put_off(refusal) ? kBusyRest : kRefusedRest;
}

// An attachment for each session in so long: secrets are kept for days.
constexpr TimePoint kAttachedFor = std::chrono::hours{1};

}  // namespace

bool is_login_put_off(protocol::ErrorCode refusal) {
  return refusal == protocol::ErrorCode::AuthenticationBusy ||
         refusal == protocol::ErrorCode::AuthenticationThrottled ||
         refusal == protocol::ErrorCode::UsersBehind;
}

bool awaits_login(const NodeEntry& entry) {
  return entry.phase == NodeEntry::Phase::Connecting && entry.welcome != nullptr &&
         entry.login.sent();
}

bool has_identities(const protocol::Welcome& welcome) {
  return (welcome.features & static_cast<std::uint64_t>(protocol::Feature::Identities)) != 0;
}

namespace {

bool shows_password(const NodeEntry& entry) {
  return entry.phase == NodeEntry::Phase::Connecting && entry.login.awaits_password();
}

// The same, or it shows one again, and there is still time for the answer.
bool renews_by_password(const NodeEntry& entry, TimePoint now) {
  return shows_password(entry) || (entry.phase == NodeEntry::Phase::Ready &&
                                   entry.login.awaits_password() && now < entry.login.renew_at());
}

}  // namespace

void log_in(NodeEntry& entry, const NodeEntries& entries, const Login& login) {
  auto proof = login.next(entry.connection->privacy());
  if (!proof.ok()) {
    return entry.connection->close(proof.status());
  }
  entry.login_waits = false;
  if (proof.value().shown.by_password() &&
      std::ranges::any_of(entries, [](const auto& each) { return shows_password(*each); })) {
    gcoord::wipe(proof.value().payload);
    entry.login_waits = true;
    return;
  }
  entry.login.show(*entry.connection, std::move(proof).value());
  entry.connection->flush();
}

void resume_logins(const NodeEntries& entries, const Login& login) {
  for (const auto& entry : entries) {
    if (entry->phase == NodeEntry::Phase::Connecting && entry->login_waits) {
      log_in(*entry, entries, login);
    }
  }
}

void log_in_early(NodeEntry& entry, const Login& login) {
  if (auto proof = login.early(entry.connection->privacy()); !proof.payload.empty()) {
    entry.login.show(*entry.connection, std::move(proof));
  }
}

bool take_login(NodeEntry& entry, const LoginReply& reply, Login& login) {
  if (!is_login(reply.answer.slot)) {
    return false;
  }
  entry.logins_unanswered = 0;
  const Login::Outcome outcome = entry.login.take(reply.answer, login);
  if (outcome.again) {
    log_in(entry, reply.entries, login);
    return false;
  }
  if (!outcome.status.ok()) {
    const auto code = static_cast<protocol::ErrorCode>(outcome.status.detail());
    entry.rests_until = reply.answer.now + rest_after(code);
    entry.connection->close(numbered(is_of_the_moment(code) ? protocol::ErrorCode::None : code,
                                     outcome.status.message()));
  }
  return outcome.status.ok();
}

void renew_when_due(NodeEntry& entry, const Renewal& at) {
  if (entry.phase != NodeEntry::Phase::Ready || at.now < entry.login.renew_at()) {
    return;
  }
  auto proof = entry.login.renewal(*entry.connection, at.login, at.now);
  if (!proof) {
    return;
  }
  if (proof->shown.by_password() && std::ranges::any_of(at.entries, [&at](const auto& each) {
        return renews_by_password(*each, at.now);
      })) {
    return gcoord::wipe(proof->payload);
  }
  entry.login.renew(*entry.connection, std::move(*proof), at.now + at.patience);
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
