#include "security/tls/library_context.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gcoord::security {
namespace {

constexpr const char* kProvider = "gcoord-tls";

// Of certificates and of the key exchange (RFC 8446 section 4.2.3 and 4.2.7), and what OpenSSL's
// TLS needs beside them.
constexpr std::string_view kKeys[] = {
    "EC", "ED25519", "ED448", "RSA", "RSA-PSS", "X25519", "X448", "HKDF", "TLS1-PRF", "HMAC"};

// The default provider, and those of its algorithms that are offered. Never changed once made.
struct Offer {
  OSSL_PROVIDER* provider = nullptr;
  std::vector<OSSL_ALGORITHM> decoders;  // Ended by one without a name, as OpenSSL's lists are.
  std::vector<OSSL_ALGORITHM> keys;
};

Offer& offer() {
  static Offer& made = *new Offer;
  return made;
}

bool is_offered(std::string_view names) {
  return std::ranges::find(kKeys, names.substr(0, names.find(':'))) != std::end(kKeys);
}

bool decodes_public_keys(const OSSL_ALGORITHM& decoder) {
  const std::string_view properties{decoder.property_definition};
  return properties.find("input=der") != std::string_view::npos &&
         properties.find("structure=SubjectPublicKeyInfo") != std::string_view::npos;
}

template <typename Wanted>
std::vector<OSSL_ALGORITHM> some_of(const OSSL_ALGORITHM* all, Wanted wanted) {
  std::vector<OSSL_ALGORITHM> some;
  for (; all != nullptr && all->algorithm_names != nullptr; ++all) {
    if (is_offered(all->algorithm_names) && wanted(*all)) {
      some.push_back(*all);
    }
  }
  some.push_back({});
  return some;
}

const OSSL_ALGORITHM* query(void* /*provider*/, int operation, int* no_cache) {
  *no_cache = 0;
  if (operation == OSSL_OP_DECODER) {
    return offer().decoders.data();
  }
  return operation == OSSL_OP_KEYMGMT
             ? offer().keys.data()
             : OSSL_PROVIDER_query_operation(offer().provider, operation, no_cache);
}

template <typename Function>
OSSL_DISPATCH entry(int number, Function* function) {
  return {number, reinterpret_cast<void (*)()>(function)};
}

// Offers the algorithms in a library context. They are the default provider's, and know it by what
// goes for this provider's own memory.
bool add_provider(OSSL_LIB_CTX* library) {
  static const OSSL_DISPATCH kFunctions[] = {
      entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query),
      entry(
          OSSL_FUNC_PROVIDER_GET_CAPABILITIES,  // The groups of the key exchange, among others.
          +[](void* /*provider*/, const char* what, OSSL_CALLBACK* take, void* argument) {
            return OSSL_PROVIDER_get_capabilities(offer().provider, what, take, argument);
          }),
      {0, nullptr}};
  const auto open = [](const OSSL_CORE_HANDLE* /*handle*/,
                       const OSSL_DISPATCH* /*of_core*/,
                       const OSSL_DISPATCH** functions,
                       void** provider) {
    *functions = kFunctions;
    *provider = OSSL_PROVIDER_get0_provider_ctx(offer().provider);
    return 1;
  };
  return OSSL_PROVIDER_add_builtin(library, kProvider, open) == 1 &&
         OSSL_PROVIDER_load(library, kProvider) != nullptr;
}

int note_other(OSSL_PROVIDER* provider, void* others) {
  if (std::string_view{OSSL_PROVIDER_get0_name(provider)} != "default") {
    *static_cast<bool*>(others) = true;
  }
  return 1;
}

bool has_default_alone() {
  bool others = false;
  return OSSL_PROVIDER_do_all(nullptr, note_other, &others) == 1 && !others &&
         EVP_default_properties_is_fips_enabled(nullptr) == 0;
}

using OwnedLibrary =
    std::unique_ptr<OSSL_LIB_CTX, decltype([](OSSL_LIB_CTX* one) { OSSL_LIB_CTX_free(one); })>;

OSSL_LIB_CTX* make() {
  OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, nullptr);  // Of the system: it may name providers.
  if (!has_default_alone()) {
    return nullptr;
  }
  Offer& made = offer();
  made.provider = OSSL_PROVIDER_try_load(nullptr, "default", 1);
  if (made.provider == nullptr) {
    return nullptr;
  }
  int no_cache = 0;
  made.decoders = some_of(OSSL_PROVIDER_query_operation(made.provider, OSSL_OP_DECODER, &no_cache),
                          decodes_public_keys);
  made.keys = some_of(OSSL_PROVIDER_query_operation(made.provider, OSSL_OP_KEYMGMT, &no_cache),
                      [](const OSSL_ALGORITHM&) { return true; });
  OwnedLibrary library{OSSL_LIB_CTX_new()};
  return library != nullptr && add_provider(library.get()) ? library.release() : nullptr;
}

}  // namespace

OSSL_LIB_CTX* library_context() {
  static OSSL_LIB_CTX* const library = [] {
    ERR_set_mark();
    OSSL_LIB_CTX* const made = make();
    ERR_pop_to_mark();
    return made;
  }();
  return library;
}

}  // namespace gcoord::security
