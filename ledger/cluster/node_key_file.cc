#include "ledger/cluster/node_key_file.h"

#include "ledger/base/error_details.h"

#include <span>
#include <string_view>

namespace gcoord::ledger {
namespace {

constexpr const char* kName = "ledger.key";
constexpr std::size_t kKeyBytesMax = 1024;

Status unusable(const std::string& why) {
  return Status{StatusCode::FailedPrecondition,
                "the ledger key of this node " + why +
                    "; restore the file, or give the node a new data directory with --rejoin",
                kLedgerKey};
}

}  // namespace

Result<NoteSigner> open_node_key(Disk& disk, const std::string& name, const NoteSeed& seed) {
  GCOORD_TRY(const bool exists, disk.exists(kName));
  if (!exists) {
    GCOORD_TRY(NoteSigner signer, NoteSigner::make(name, seed));
    const std::string text = signer.secret_text() + "\n";
    GCOORD_TRY_STATUS(write_atomically(disk, kName, std::as_bytes(std::span(text))));
    return signer;
  }
  GCOORD_TRY(const auto file, disk.open(kName));
  GCOORD_TRY(const std::uint64_t size, file->size_bytes());
  if (size < 2 || size > kKeyBytesMax) {
    return unusable("has no usable length");
  }
  GCOORD_TRY(const auto bytes, read_all(*file));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto signer = NoteSigner::parse(text.substr(0, text.size() - 1));
  if (!signer.ok() || text.back() != '\n') {
    return unusable("is damaged");
  }
  if (signer.value().key().name() != name) {
    return unusable("is of " + signer.value().key().name() + ", not of " + name);
  }
  return signer;
}

}  // namespace gcoord::ledger
