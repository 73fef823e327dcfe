// As in name_hash.cc: what replaces the direct functions looks the algorithm up by name.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "common/sha256_block.h"

#include <openssl/sha.h>

#include <array>
#include <cstring>

namespace gcoord {

void sha256_add_block_on_host(Sha256Words& state, const Sha256Block& block) {
  SHA256_CTX context;
  std::array<std::uint32_t, 16> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = __builtin_bswap32(block.word[i]);
  }
  std::memcpy(context.h, state.word, sizeof context.h);
  SHA256_Transform(&context, reinterpret_cast<const unsigned char*>(bytes.data()));
  std::memcpy(state.word, context.h, sizeof context.h);
}

}  // namespace gcoord
