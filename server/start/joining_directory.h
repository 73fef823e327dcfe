// The data directory of a node that joins a cluster, from before it asks until it belongs to a
// node.
//
// The id of the directory is drawn and durable before the cluster is asked (`joining`): whoever
// asks again after a crash is the same one, and gets the same answer. The answer makes it the
// directory of a node: first the identity, then the members, and only then `joining` goes. One
// thread; no other process has the directory meanwhile.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/directory/data_directory.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/members/join_messages.h"
#include "server/start/kept_members.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace gcoord::server {

class JoiningDirectory {
 public:
  // Makes the directory where it is absent; `path` is behind links. random_id: any number that no
  // other directory has, not 0; used where none is drawn yet. Failures: kDirectoryNode for one that
  // holds a node's data, DataLoss with kDirectoryIdentity for a damaged file, those of
  // ledger::make_data_directory and ledger::DirectoryLock::take, the disk's.
  static Result<std::unique_ptr<JoiningDirectory>> open(const std::string& path,
                                                        std::uint64_t random_id);

  std::uint64_t directory_id() const { return directory_id_; }

  // Makes it the directory of the node that the cluster has admitted with the token. Durable on
  // return; after a failure or a crash it can be asked for again. Where the number was another
  // directory's before (membership::ViewCommandKind::Renew), it is the successor of that, and
  // rejoins. The secret of the cluster that
  // came with the answer lies in it then. Failures: those of ledger::IdentityFile::open,
  // keep_join_secret and write_kept_members.
  Status finish(const protocol::JoinAnswer& answer, const protocol::JoinToken& token);

 private:
  explicit JoiningDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::unique_ptr<ledger::PosixDisk> disk_;
  std::unique_ptr<ledger::DirectoryLock> lock_;
  std::uint64_t directory_id_ = 0;
};

// Whether a join into the directory has begun and was not finished.
Result<bool> is_joining(ledger::Disk& disk);

// Whether the directory at `path` has no members yet: a node that is to join has to ask for them.
// True where there is none. Failures: the disk's.
Result<bool> is_to_join(const std::string& path);

}  // namespace gcoord::server
