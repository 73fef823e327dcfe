#include "ledger/base/sha256_stream.h"

#include "common/assert.h"

#include <openssl/evp.h>

namespace gcoord::ledger {

struct Sha256Stream::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  ~State() { EVP_MD_CTX_free(context); }
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  GCOORD_ASSERT(state_->context != nullptr);
  GCOORD_ASSERT(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::add(std::span<const std::byte> bytes) {
  GCOORD_ASSERT(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Sha256Stream::Digest Sha256Stream::finish() {
  Digest digest{};
  GCOORD_ASSERT(EVP_DigestFinal_ex(state_->context,
                                   reinterpret_cast<unsigned char*>(digest.data()),
                                   nullptr) == 1);
  return digest;
}

}  // namespace gcoord::ledger
