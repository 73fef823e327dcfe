#include "cli/gcoordd/auth_recover.h"

#include "common/text/printable.h"
#include "ledger/directory/data_directory.h"
#include "ledger/directory/identity_file.h"
#include "ledger/directory/real_directory.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"
#include "server/access/recovery_file.h"
#include "server/platform/boot_time.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace gcoord {
namespace {

using protocol::ErrorCode;

Status unfit(std::string why) {
  return protocol::make_error(ErrorCode::RecoveryUnfit, std::move(why));
}

std::uint64_t drawn_number() {
  const std::uint64_t drawn = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  return std::max<std::uint64_t>(drawn, 1);
}

void explain(const ForceTerminal& terminal) {
  terminal.err
      << "\nThis lets the node take part in switching rights off in its cluster:\n"
         "  - Once a majority of the cluster's voters has been told so and runs again, everybody "
         "who reaches its\n    ports may do everything, until rights are switched on again "
         "(gcoordctl auth enable).\n"
         "  - Users, roles and passwords stay. The ledger says which nodes it were.\n"
         "  - What is written counts for a day, and once.\n";
}

Status confirm(const server::ForceFlags& flags, ClusterId cluster, const ForceTerminal& terminal) {
  std::optional<std::string> typed = flags.confirm;
  if (!typed) {
    terminal.err << "\nType the id of the cluster: " << std::flush;
    typed = terminal.ask();
  }
  if (!typed || *typed != std::to_string(cluster.value)) {
    terminal.err << "\n";
    return protocol::make_error(ErrorCode::RecoveryUnconfirmed,
                                typed ? "the id of the cluster is another"
                                      : "nobody is there to type it: give --confirm CLUSTERID");
  }
  return Status{};
}

}  // namespace

Status auth_recover(const server::Invocation& invocation, const ForceTerminal& terminal) {
  std::error_code error;
  if (!std::filesystem::is_directory(invocation.options.data_dir, error)) {
    return unfit("there is no directory " + shown(invocation.options.data_dir));
  }
  GCOORD_TRY(const std::string directory, ledger::real_directory(invocation.options.data_dir));
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(directory));
  GCOORD_TRY(const bool is_node, disk->exists("identity"));
  if (!is_node) {
    return unfit(shown(directory) + " is not the data directory of a node");
  }
  GCOORD_TRY(const auto lock, ledger::DirectoryLock::take(directory));
  GCOORD_TRY(const auto identity, ledger::IdentityFile::read(*disk));
  if (!identity->in_use()) {
    return unfit("its node never ran");
  }
  const ledger::NodeIdentity& node = identity->identity();
  terminal.out << "data-dir    " << shown(directory) << "\n"
               << "cluster-id  " << node.cluster.value << "\n"
               << "node        " << node.node.value << "\n"
               << std::flush;
  explain(terminal);
  GCOORD_TRY_STATUS(confirm(invocation.force, node.cluster, terminal));
  GCOORD_TRY_STATUS(server::write_recovery_marker(*disk,
                                                  {.cluster = node.cluster,
                                                   .node = node.node,
                                                   .number = drawn_number(),
                                                   .time_ms = server::wall_ms()}));
  terminal.err << "\nDone for this node. Do the same on a majority of the nodes, then start them: "
                  "the leader\nswitches rights off within seconds (gcoordctl auth status).\n";
  return Status{};
}

}  // namespace gcoord
