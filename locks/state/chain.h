// The hash chain of a shard: equal on replicas that applied the same commands to the same effect.
//
//   chain(n) = chain(n - 1) * kChainStep + word(n)        modulo 2^64
//
// word(n) is a mix of all that the command said, what it was answered and what it left. The step is
// odd, so one wrong word always shows, however much follows; and being a product and a sum, the
// chain of many commands is one sum over them (a polynomial; Karp and Rabin 1987), whose terms
// nobody has to work out in turn. Chosen over a mix of mixes, which is a chain of 60 cycles a
// command on a device. It finds replicas that went apart by a fault; it does not withstand someone
// who chooses the commands and both outcomes (the ledger's Merkle tree does). Pure; host and
// device.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "locks/commands/reply.h"
#include "locks/state/keys.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

// 2^64 divided by the golden ratio, made 3 modulo 4: then step - 1 has a single factor of two, so
// that two words that change places show unless they differ in their highest bit alone.
inline constexpr std::uint64_t kChainStep = 0x9e3779b97f4a7c17u;

static_assert(kChainStep % 4 == 3);

// The word of a command with this digest (lock_keys.h) that was answered so and left the shard so.
GCOORD_HD inline std::uint64_t chain_word(std::uint64_t command_digest,
                                          const LockReply& reply,
                                          const LockShardRow& left) {
  return mix64(command_digest +
               digest_word<7>(static_cast<std::uint64_t>(reply.code) << 8 |
                              static_cast<std::uint64_t>(reply.more)) +
               digest_word<8>(reply.token.value ^ reply.holder.value) +
               digest_word<9>(left.token_last) +
               digest_word<10>(std::uint64_t{left.session_count} << 32 | left.serial_last) +
               digest_word<11>(std::uint64_t{left.lock_count} << 32 | left.waiter_count));
}

// kChainStep to the power of n; n <= 63. By squaring, as straight code.
GCOORD_HD inline std::uint64_t chain_power(std::uint32_t n) {
  std::uint64_t power = 1;
  std::uint64_t square = kChainStep;
  GCOORD_UNROLL
  for (std::uint32_t bit = 0; bit < 6; ++bit) {
    power *= (n >> bit & 1) != 0 ? square : 1;
    square *= square;
  }
  return power;
}

}  // namespace gcoord::locks
