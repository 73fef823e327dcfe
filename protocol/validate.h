// The one place where a request's fields are judged: names, times, numbers, list sizes.
//
// A node calls check_request() on every slot before it serves it; the client calls the single
// checks before it sends, so that a mistake costs no round trip. Each violation has its own
// ErrorCode. Pure functions; nothing is allocated; thread-safe.
#pragma once

#include "protocol/error_codes.h"
#include "protocol/force_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gcoord::protocol {

// What a cluster allows within the bounds of limits.h; from its configuration, told in Welcome.
struct RequestLimits {
  std::uint32_t shard_count = 1;
  std::uint32_t ttl_ms_min = kTtlMsMin;
  std::uint32_t ttl_ms_max = kTtlMsMax;
};

// A session that no request may name: the shards keep records of their own under it.
inline constexpr std::uint64_t kSessionReserved = ~std::uint64_t{0};

// A name that a shard may have: 1 to 1,024 bytes of valid UTF-8 (common/utf8.h) without U+0000 to
// U+001F and U+007F. Judges requests that read, release, break, move or watch what is there.
ErrorCode check_name(std::string_view name);

// A name that a shard may get: check_name(), and printable (common/text/printable.h), because names
// are printed in tables and logs. Earlier versions took more, so a shard may have names that no
// acquire gets any more; what applies commands judges none.
ErrorCode check_new_name(std::string_view name);

// A note, or the value of a leader: at most 512 bytes of printable UTF-8.
ErrorCode check_note(std::string_view note);

// The beginning of names, or of all when it is empty: as a new name, but for PrefixTooLong. One
// that ends within a character is not UTF-8.
ErrorCode check_prefix(std::string_view prefix);

// Whether somebody may ask to hold a lock so. The name is judged by check_name().
ErrorCode check_hold(const LockHold& hold);

// Whether a break says what it must.
ErrorCode check_break(const LockBreak& request);

// The place of a request in its session's window: sequence and acked_below.
ErrorCode check_window(const RequestSlot& slot);

ErrorCode check_ttl(std::uint32_t ttl_ms, const RequestLimits& limits);

// 0 (do not wait) to a day, or kForeverMs.
ErrorCode check_wait(std::uint32_t wait_ms);

// The fields of a request of any kind against its payload. None, or the first violation; an unknown
// kind is KindUnknown. List payloads are decoded (and so checked) by their own functions.
ErrorCode check_request(const RequestSlot& slot,
                        std::span<const std::byte> payload,
                        const RequestLimits& limits);

}  // namespace gcoord::protocol
