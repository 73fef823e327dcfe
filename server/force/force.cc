#include "server/force/force.h"

#include "common/assert.h"
#include "ledger/disk/posix_disk.h"
#include "ledger/space/guard.h"
#include "protocol/error_codes.h"
#include "server/platform/system_random.h"
#include "server/trust/node_trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

Status unfit(const std::string& why) {
  return protocol::make_error(ErrorCode::ForceUnfit, why);
}

// What is made here belongs to who runs it.
Status check_owner(const std::string& directory) {
  struct stat attributes {};

  const bool known = ::stat(directory.c_str(), &attributes) == 0;
  if (!known || attributes.st_uid == ::geteuid()) {
    return Status{};
  }
  return protocol::make_error(ErrorCode::ForceBlocked,
                              directory + " belongs to user " + std::to_string(attributes.st_uid) +
                                  "; run this as that user (sudo -u)");
}

void tell(const ForceOrder& order, ForceStep step) {
  if (order.on_step) {
    order.on_step(step);
  }
}

// Removes what was made so far, unless all of it was done.
class Cleanup {
 public:
  explicit Cleanup(const DirectorySwap& swap) : swap_(swap) {}

  ~Cleanup() {
    std::error_code ignored;
    std::filesystem::remove_all(swap_.snapshot(), ignored);
    std::filesystem::remove_all(swap_.making(), ignored);
    if (!exchanged_) {
      std::filesystem::remove_all(swap_.ready(), ignored);
    }
  }

  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;

  // From here on ready() is the old directory.
  void note_exchanged() { exchanged_ = true; }

 private:
  const DirectorySwap& swap_;
  bool exchanged_ = false;
};

// Its space is of use to the new directory.
void remove_reserve(const std::string& kept) {
  std::error_code ignored;
  std::filesystem::remove(kept + "/" + ledger::kReserveName, ignored);
}

}  // namespace

Result<std::unique_ptr<ForceNewCluster>> ForceNewCluster::open(const std::string& directory,
                                                               Purpose purpose) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return unfit("there is no directory " + directory);
  }
  std::unique_ptr<ForceNewCluster> force(new ForceNewCluster(directory));
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(directory));
  GCOORD_TRY(const bool is_node, disk->exists("identity"));
  if (!is_node) {
    return unfit(directory + " is not the data directory of a node");
  }
  GCOORD_TRY_STATUS(check_owner(directory));
  GCOORD_TRY(force->lock_, ledger::DirectoryLock::take(directory));
  GCOORD_TRY_STATUS(force->read(purpose));
  return force;
}

Status ForceNewCluster::read(Purpose purpose) {
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(directory_));
  GCOORD_TRY(former_, ledger::read_former(*disk));
  if (purpose == Purpose::Make) {
    GCOORD_TRY(const auto moved, swap_.settle());
    if (moved) {
      remove_reserve(*moved);
    }
  }
  GCOORD_TRY(const auto identity, ledger::IdentityFile::read(*disk));
  facts_.identity = identity->identity();
  if (former_ && !identity->in_use()) {
    finished_ = swap_.kept(facts_.identity.cluster);
    return Status{};
  }
  GCOORD_TRY(kept_, read_kept_members(*disk));
  GCOORD_TRY_STATUS(check_kept());
  GCOORD_TRY(survivor_, Survivor::open(directory_, kept_.view()));
  facts_ = survivor_->facts();
  return Status{};
}

// The view in the log may be older than what the others said at last.
Status ForceNewCluster::check_kept() const {
  return kept_.removed ? unfit("its node has left the cluster, as the other nodes said") : Status{};
}

Result<Forced> ForceNewCluster::make(const ForceOrder& order) {
  GCOORD_ASSERT(survivor_ != nullptr);
  const ClusterId old = facts_.identity.cluster;
  if (order.confirmation != std::to_string(old.value)) {
    return protocol::make_error(
        ErrorCode::ForceOtherCluster,
        "'" + order.confirmation + "'; the directory's cluster is " + std::to_string(old.value));
  }
  Cleanup cleanup(swap_);
  GCOORD_TRY(Restored restored, restore(order));
  GCOORD_TRY_STATUS(describe(order, restored));
  std::error_code ignored;
  std::filesystem::remove(swap_.snapshot(), ignored);
  GCOORD_TRY_STATUS(swap_.complete());
  tell(order, ForceStep::Ready);
  GCOORD_TRY_STATUS(swap_.exchange());
  cleanup.note_exchanged();
  tell(order, ForceStep::Exchanged);
  GCOORD_TRY(std::string kept, swap_.keep(restored.cluster));
  tell(order, ForceStep::Kept);
  remove_reserve(kept);
  return Forced{.cluster = restored.cluster,
                .former = old,
                .resident = facts_.resident,
                .kept = std::move(kept),
                .view = restored.view,
                .restored = std::move(restored)};
}

Result<Restored> ForceNewCluster::restore(const ForceOrder& order) {
  GCOORD_TRY_STATUS(survivor_->save(swap_.snapshot(), order.time_ms));
  survivor_.reset();  // Its tables and stores are of no use any more.
  tell(order, ForceStep::Saved);
  RestoreOptions options;
  options.file = swap_.snapshot();
  options.data_directory = swap_.making();
  options.node = facts_.identity.node;
  options.nodes = {facts_.identity.node};
  // Two survivors make two clusters, also of equal data.
  options.cluster_token = std::to_string(draw_random());
  options.random_id = draw_random();
  GCOORD_TRY(Restored restored, restore_snapshot(options));
  tell(order, ForceStep::Restored);
  return restored;
}

Status ForceNewCluster::describe(const ForceOrder& order, const Restored& restored) const {
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(swap_.making()));
  if (restored.view.epoch != 0) {
    KeptMembers members;
    members.members.view = restored.view;
    members.joined_by = kept_.joined_by;  // So that an old --join is still known for its own.
    GCOORD_TRY_STATUS(write_kept_members(*disk, members));
  }
  // Keys of sessions are made of it, and they live on in the new cluster.
  GCOORD_TRY_STATUS(carry_secret(directory_, swap_.making()));
  GCOORD_TRY_STATUS(ledger::write_former(*disk, {facts_.identity.cluster, order.time_ms}));
  tell(order, ForceStep::Described);
  return Status{};
}

}  // namespace gcoord::server
