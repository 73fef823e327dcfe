#include "client/c/border.h"

#include "client/net/failure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

namespace gcoord::client {
namespace {

static_assert(GCOORD_CANCELLED == static_cast<int>(StatusCode::Cancelled));
static_assert(GCOORD_UNKNOWN == static_cast<int>(StatusCode::Unknown));
static_assert(GCOORD_INVALID_ARGUMENT == static_cast<int>(StatusCode::InvalidArgument));
static_assert(GCOORD_DEADLINE_EXCEEDED == static_cast<int>(StatusCode::DeadlineExceeded));
static_assert(GCOORD_NOT_FOUND == static_cast<int>(StatusCode::NotFound));
static_assert(GCOORD_ALREADY_EXISTS == static_cast<int>(StatusCode::AlreadyExists));
static_assert(GCOORD_PERMISSION_DENIED == static_cast<int>(StatusCode::PermissionDenied));
static_assert(GCOORD_RESOURCE_EXHAUSTED == static_cast<int>(StatusCode::ResourceExhausted));
static_assert(GCOORD_FAILED_PRECONDITION == static_cast<int>(StatusCode::FailedPrecondition));
static_assert(GCOORD_ABORTED == static_cast<int>(StatusCode::Aborted));
static_assert(GCOORD_OUT_OF_RANGE == static_cast<int>(StatusCode::OutOfRange));
static_assert(GCOORD_UNIMPLEMENTED == static_cast<int>(StatusCode::Unimplemented));
static_assert(GCOORD_INTERNAL == static_cast<int>(StatusCode::Internal));
static_assert(GCOORD_UNAVAILABLE == static_cast<int>(StatusCode::Unavailable));
static_assert(GCOORD_DATA_LOSS == static_cast<int>(StatusCode::DataLoss));
static_assert(GCOORD_UNAUTHENTICATED == static_cast<int>(StatusCode::Unauthenticated));
static_assert(GCOORD_JEOPARDY == static_cast<int>(SessionEvent::Jeopardy));
static_assert(GCOORD_SAFE == static_cast<int>(SessionEvent::Safe));
static_assert(GCOORD_EXPIRED == static_cast<int>(SessionEvent::Expired));
static_assert(GCOORD_VALID == static_cast<int>(Verdict::Valid));
static_assert(GCOORD_STALE == static_cast<int>(Verdict::Stale));
static_assert(GCOORD_FREE == static_cast<int>(Verdict::Free));

// Bytes of `text` that fit before a NUL, without cutting a character of UTF-8 in two.
std::size_t fitting(const std::string& text, std::size_t room) {
  std::size_t length = std::min(text.size(), room - 1);
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u;
  };
  while (length > 0 && continues(length)) {
    --length;
  }
  return length;
}

}  // namespace

void EventGate::pass(std::int32_t event) {
  const std::lock_guard lock{mutex_};
  if (open_ && callback_ != nullptr) {
    callback_(user_, event);
  }
}

void EventGate::shut() {
  const std::lock_guard lock{mutex_};
  open_ = false;
}

void BorrowedClock::notify_moves(std::function<void()> wake) {
  const std::lock_guard lock{mutex_};
  wake_ = std::move(wake);
}

void BorrowedClock::moved() {
  std::function<void()> wake;
  {
    const std::lock_guard lock{mutex_};
    wake = wake_;
  }
  if (wake) {
    wake();
  }
}

gcoord_status report(const Status& status, gcoord_error* error) noexcept {
  const auto code = static_cast<gcoord_status>(status.code());
  if (error != nullptr && !status.ok()) {
    error->status = code;
    error->number = status.detail();
    const std::size_t length = fitting(status.message(), sizeof(error->message));
    std::memcpy(error->message, status.message().data(), length);
    error->message[length] = '\0';
  }
  return code;
}

Status required(std::initializer_list<Argument> arguments) {
  const auto missing =
      std::ranges::find(arguments, nullptr, [](const Argument& each) { return each.value; });
  return missing == arguments.end() ? Status{}
                                    : failure(protocol::ErrorCode::OptionMissing, missing->name);
}

Status names_given(const char* const* names, std::size_t count) {
  Status given = required({{names, "names"}});
  for (std::size_t index = 0; given.ok() && index < count; ++index) {
    given = required({{names[index], "names"}});
  }
  return given;
}

Status first_failure(std::initializer_list<Status> outcomes) {
  const auto failed =
      std::ranges::find(outcomes, false, [](const Status& each) { return each.ok(); });
  return failed == outcomes.end() ? Status{} : *failed;
}

Status not_initialised() {
  return failure(protocol::ErrorCode::OptionInvalid,
                 "struct_bytes is wrong; initialise the options with their _init function");
}

Result<AcquireOptions> wait_of(std::int64_t wait_ms) {
  if (wait_ms == GCOORD_FOREVER) {
    return AcquireOptions{.wait = kForever};
  }
  if (wait_ms < 0) {
    return failure(protocol::ErrorCode::OptionInvalid, "wait_ms is negative");
  }
  return AcquireOptions{.wait = std::chrono::milliseconds{wait_ms}};
}

std::shared_ptr<EventGate> gate_of(gcoord_event_callback callback, void* user) {
  return callback != nullptr ? std::make_shared<EventGate>(callback, user) : nullptr;
}

std::function<void(SessionEvent)> events_through(const std::shared_ptr<EventGate>& gate) {
  if (gate == nullptr) {
    return {};
  }
  return [gate](SessionEvent event) { gate->pass(static_cast<std::int32_t>(event)); };
}

std::function<void(const LostLock&)> losses_through(const std::shared_ptr<EventGate>& gate) {
  if (gate == nullptr) {
    return {};
  }
  return [gate](const LostLock&) { gate->pass(GCOORD_LOCK_LOST); };
}

void shut(const std::shared_ptr<EventGate>& gate) {
  if (gate != nullptr) {
    gate->shut();
  }
}

Status caught(const std::exception& exception) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
  return {memory ? StatusCode::ResourceExhausted : StatusCode::Internal, exception.what()};
}

}  // namespace gcoord::client

uint32_t gcoord_abi_version(void) {
  return GCOORD_ABI_VERSION;
}
