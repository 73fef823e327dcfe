#include "client/core/acquire_request.h"

#include "protocol/validate.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

using std::chrono::milliseconds;

// Whether the options ask for more than a plain hold.
bool beyond_plain(const AcquireOptions& options) {
  return options.holds_max != 0 || !options.note.empty() || options.shared || options.downgrade ||
         options.permits_max != 0 || options.priority != 0 || options.delay.count() != 0;
}

protocol::LockHold hold_of(std::string_view name, const AcquireOptions& options) {
  protocol::LockHold hold;
  if (options.holds_max != 0) {
    hold.flags = static_cast<std::uint8_t>(protocol::HoldFlag::Reentrant);
    hold.limit = static_cast<std::uint16_t>(options.holds_max);
  }
  const auto add = [&hold](protocol::HoldFlag flag) {
    hold.flags = static_cast<std::uint8_t>(hold.flags | static_cast<std::uint8_t>(flag));
  };
  if (options.shared) {
    add(protocol::HoldFlag::Shared);
    hold.permits = static_cast<std::uint8_t>(options.permits);
    hold.limit = static_cast<std::uint16_t>(options.permits_max);
  }
  if (options.downgrade) {
    add(protocol::HoldFlag::Downgrade);
  }
  if (options.priority != 0) {
    add(protocol::HoldFlag::Ranked);
    hold.permits = static_cast<std::uint8_t>(options.priority);
  }
  hold.delay_ms = static_cast<std::uint16_t>(options.delay.count());
  hold.name = name;
  hold.note = options.note;
  return hold;
}

}  // namespace

protocol::ErrorCode check_acquire_request(const Core& core,
                                          std::string_view name,
                                          const AcquireOptions& options) {
  protocol::ErrorCode code = protocol::check_new_name(name);
  if (code == protocol::ErrorCode::None && options.wait != kForever) {
    code = protocol::check_wait(protocol_ms(options.wait));
  }
  if (code == protocol::ErrorCode::None &&
      (options.delay < milliseconds{0} || options.delay > milliseconds{protocol::kDelayMsMax})) {
    code = protocol::ErrorCode::DelayTooLong;
  }
  if (code == protocol::ErrorCode::None && beyond_plain(options)) {
    const bool limited = options.shared || options.permits_max == 0;
    const bool countable = limited && options.holds_max <= 0xffffu && options.permits <= 0xffu &&
                           options.permits_max <= 0xffffu && options.priority <= 0xffu &&
                           !(options.shared && options.holds_max != 0);
    code =
        countable ? protocol::check_hold(hold_of(name, options)) : protocol::ErrorCode::HoldInvalid;
    const bool known = core.has(protocol::Feature::LockHolds) &&
                       (options.priority == 0 || core.has(protocol::Feature::Elections)) &&
                       (options.delay.count() == 0 || core.has(protocol::Feature::LockForce));
    if (code == protocol::ErrorCode::None && !known) {
      code = protocol::ErrorCode::FeatureMissing;
    }
  }
  return code;
}

OperationPtr acquire_operation(const Core& core,
                               std::string_view name,
                               const AcquireOptions& options) {
  OperationPtr operation = name_operation(core, protocol::RequestKind::LockAcquire, name);
  if (beyond_plain(options)) {
    operation->slot.kind = protocol::RequestKind::LockAcquireHold;
    operation->payload = protocol::text_of(protocol::encode_hold(hold_of(name, options)));
    operation->counted = options.holds_max != 0;
  }
  return operation;
}

std::uint32_t protocol_ms(milliseconds duration) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(duration.count(), 0, protocol::kForeverMs - 1));
}

}  // namespace gcoord::client
