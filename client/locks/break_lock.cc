#include "client/locks/break_lock.h"

#include "client/net/failure.h"
#include "client/reads/lookups.h"
#include "protocol/force_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/validate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::client {
namespace {

void send_break(Core& core,
                const std::string& name,
                const BreakOptions& options,
                bool all,
                Callback<Result<BrokenLock>> callback) {
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockBreak, name);
  operation->slot.token = options.token;
  operation->payload = protocol::text_of(protocol::encode_break(
      {.all = all, .name = name, .who = options.who, .reason = options.reason}));
  operation->callback = [name, callback = std::move(callback)](const Answer& answer) {
    if (!answer.status.ok()) {
      return callback(answer.status);
    }
    // What an earlier try broke, an answer that says "not held" does not name.
    const bool named = answer.slot.code == gcoord::StatusCode::Ok;
    callback(BrokenLock{.name = name,
                        .session_id = named ? answer.slot.extra : 0,
                        .token = named ? answer.slot.token : 0});
  };
  core.submit(std::move(operation));
}

// The newest token under which the lock is held.
std::uint64_t newest_token(const LockDescription& lock) {
  std::uint64_t newest = lock.token;
  for (const Holder& holder : lock.holders) {
    newest = std::max(newest, holder.token);
  }
  return newest;
}

}  // namespace

void break_lock(Core& core,
                std::string_view name,
                const BreakOptions& options,
                Callback<Result<BrokenLock>> callback) {
  auto code = protocol::check_break({.name = name, .who = options.who, .reason = options.reason});
  if (code == protocol::ErrorCode::None && !core.has(protocol::Feature::LockForce)) {
    code = protocol::ErrorCode::FeatureMissing;
  }
  if (code != protocol::ErrorCode::None) {
    return refuse<Result<BrokenLock>>(core, std::move(callback), failure(code));
  }
  if (options.token != 0) {
    return send_break(core, std::string{name}, options, false, std::move(callback));
  }
  // A command means holds by their tokens: sent again after a lost answer, it must not meet whoever
  // came after them.
  get(core,
      name,
      false,
      [&core, held = std::string{name}, asked = options, callback = std::move(callback)](
          const Result<LockDescription>& lock) mutable {
        const auto absent = static_cast<std::uint32_t>(protocol::ErrorCode::LockAbsent);
        if (!lock.ok()) {
          const bool free = lock.status().detail() == absent;
          return callback(free ? failure(protocol::ErrorCode::LockNotHeld) : lock.status());
        }
        if (lock.value().hidden) {
          return callback(
              failure(protocol::ErrorCode::NotAllowed,
                      "lock.read.details over the name is missing, so its holds cannot "
                      "be found. Ask an administrator for it (gcoordctl role grant), or "
                      "give the token of a hold (--token); to break takes lock.break, "
                      "which was not checked yet"));
        }
        asked.token = newest_token(lock.value());
        // One hold costs a node little; all of them, room for as many as a lock may have.
        const bool several = lock.value().holders.size() > 1;
        send_break(core, held, asked, several, std::move(callback));
      });
}

}  // namespace gcoord::client
