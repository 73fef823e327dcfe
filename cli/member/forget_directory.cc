#include "cli/member/forget_directory.h"

#include "ledger/directory/data_directory.h"
#include "ledger/directory/identity_file.h"
#include "ledger/directory/real_directory.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"

#include <vector>

namespace gcoord::cli {

namespace {

// How many nodes the directory remembers afterwards.
Result<std::size_t> forget(const std::string& given, NodeId node) {
  GCOORD_TRY(const std::string path, ledger::real_directory(given));
  GCOORD_TRY(const auto lock, ledger::DirectoryLock::take(path));
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(path));
  GCOORD_TRY(const auto identity, ledger::IdentityFile::read(*disk));
  std::vector<ledger::PeerIdentity> peers = identity->peers();
  if (std::erase_if(peers, [node](const auto& peer) { return peer.node == node; }) == 0) {
    return protocol::make_error(
        protocol::ErrorCode::MemberUnknown,
        path + " remembers no directory of node " + std::to_string(node.value));
  }
  GCOORD_TRY_STATUS(identity->remember_peers(peers));
  return peers.size();
}

}  // namespace

int forget_directory(Context& context, const ForgetDirectoryFlags& flags) {
  const auto rest = forget(flags.data_dir, NodeId{flags.node});
  if (!rest.ok()) {
    return context.fail(rest.status());
  }
  context.output().print_facts(Json{{"node", flags.node}, {"remembered", rest.value()}});
  return 0;
}

}  // namespace gcoord::cli
