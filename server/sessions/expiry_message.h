// Messages in which nodes ask each other how long sessions have been silent (session_expiry.h).
//
//   kind 1 (1: question, 2: answer), flags 1, 2 bytes 0, count 4, round 8, and `count` times:
//   session 8, shard 4, serial 4, silent_ms 8 (of an answer; kSilenceUnknown: cannot tell),
//   and behind them, with flag 1 of an answer: epoch 8
//
// An answer repeats the round and the cases of its question, in their order. Flag 1 of a question
// asks for the epoch of the cluster view that the answering node has; earlier releases do not look
// at flags. Encoding and decoding
// are thread-safe; decoding hostile bytes gives nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// First byte of the peer message. Never renumber.
enum class ExpiryMessageKind : std::uint8_t { Question = 1, Answer = 2 };

// Cases of one message.
inline constexpr std::size_t kCasesPerMessageMax = 1024;

inline constexpr std::uint64_t kSilenceUnknown = ~std::uint64_t{0};

// One registration. As it travels.
struct ExpiryCase {
  std::uint64_t session = 0;
  std::uint32_t shard = 0;
  std::uint32_t serial = 0;
  std::uint64_t silent_ms = 0;
};

static_assert(sizeof(ExpiryCase) == 24);

struct ExpiryMessage {
  ExpiryMessageKind kind = ExpiryMessageKind::Question;
  std::uint64_t round = 0;
  std::vector<ExpiryCase> cases;
  bool with_epoch = false;  // Of a question: the answer is to say its epoch; of an answer: it does.
  std::uint64_t epoch = 0;  // Of an answer.
};

std::vector<std::byte> encode_expiry(const ExpiryMessage& message);

std::optional<ExpiryMessage> decode_expiry(std::span<const std::byte> message);

}  // namespace gcoord::server
