#include "client/credentials/session_keyring.h"

#include "common/bytes.h"
#include "protocol/limits.h"

namespace gcoord::client {

using protocol::RequestKind;

void SessionKeyring::keep(SessionId session, const security::SessionKey& key) {
  const std::lock_guard lock{mutex_};
  keys_.insert_or_assign(session.value, key);
}

void SessionKeyring::hear(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  const bool opens =
      slot.kind == RequestKind::OpenSession || slot.kind == RequestKind::SessionGrant;
  const bool renews = slot.kind == RequestKind::SessionAttach && find(SessionId{slot.extra});
  if ((!opens && !renews) || slot.code != gcoord::StatusCode::Ok || payload.empty()) {
    return;
  }
  if (const auto key = security::SessionKey::decode(payload); key.ok()) {
    keep(SessionId{slot.extra}, key.value());
  }
}

void SessionKeyring::on_ended(SessionId session) {
  const std::lock_guard lock{mutex_};
  if (!keys_.contains(session.value)) {
    return;
  }
  ended_.push_back(session);
  if (ended_.size() > kEndedKept) {
    keys_.erase(ended_.front().value);
    ended_.pop_front();
  }
}

std::optional<security::SessionKey> SessionKeyring::find(SessionId session) const {
  const std::lock_guard lock{mutex_};
  const auto found = keys_.find(session.value);
  return found == keys_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<SessionKeyring::Shown> SessionKeyring::before(const protocol::RequestSlot& slot,
                                                          std::span<const std::byte> payload,
                                                          Attached& attached) const {
  std::vector<Shown> shown;
  const auto show = [&](SessionId session) {
    if (attached.contains(session.value)) {
      return;
    }
    if (const auto key = find(session)) {
      attached.insert(session.value);
      shown.push_back({{}, *key});
      shown.back().slot.kind = RequestKind::SessionAttach;
      shown.back().slot.session = session.value;
    }
  };
  if (slot.kind == RequestKind::KeepAlive) {
    ByteReader reader{payload};
    const auto count = reader.count(sizeof(std::uint64_t), protocol::kKeepAliveSessionsMax);
    for (std::uint32_t k = 0; k < count; ++k) {
      show(SessionId{reader.integer<std::uint64_t>()});
    }
  } else if (slot.session != 0 && slot.kind != RequestKind::SessionAttach) {
    show(SessionId{slot.session});
  }
  return shown;
}

}  // namespace gcoord::client
