// The options of the machine below: the data directory, the ledger, the device, the turn and logs.
#include "server/options/option_rows.h"
#include "server/options/setters.h"

#include <array>

namespace gcoord::server {

namespace {

using namespace setters;

Status ledger_keep_heads(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.ledger_keep_heads, ledger::parse_keep_policy(text));
  return options.ledger_keep_heads.age_ms == 0
             ? Status{}
             : wrong("an age bound does not apply to published heads");
}

Status ledger_keep(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.ledger_keep, ledger::parse_keep_policy(text));
  return Status{};
}

Status ledger_bytes_max(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.ledger_bytes_max, ledger::parse_bytes_max(text));
  return Status{};
}

Status device(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.device, parse_device_choice(text));
  return Status{};
}

Status gpu_policy(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.gpu_policy, parse_gpu_policy(text));
  return Status{};
}

Status turn(const std::string& text, NodeOptions& options) {
  if (text != "host" && text != "resident") {
    return wrong("'" + text + "' is neither host nor resident");
  }
  options.turn = text == "resident" ? TurnOption::Resident : TurnOption::Host;
  return Status{};
}

Status resident_peers(const std::string& text, NodeOptions& options) {
  for (const ResidentPeers wish :
       {ResidentPeers::Auto, ResidentPeers::Mapped, ResidentPeers::Proxy}) {
    if (text == resident_peers_name(wish)) {
      options.resident_peers = wish;
      return Status{};
    }
  }
  return wrong("'" + text + "' is none of auto, mapped, proxy");
}

Status durability(const std::string& text, NodeOptions& options) {
  if (text != "durable" && text != "memory") {
    return wrong("'" + text + "' is neither durable nor memory");
  }
  options.durability = text == "memory" ? Durability::Memory : Durability::Durable;
  return Status{};
}

Status log_level(const std::string& text, NodeOptions& options) {
  GCOORD_TRY(options.log_levels, parse_log_levels(text, options.log_levels));
  return Status{};
}

Status log_format(const std::string& text, NodeOptions& options) {
  if (text != "text" && text != "json") {
    return wrong("'" + text + "' is neither text nor json");
  }
  options.log_format = text == "json" ? LogFormat::Json : LogFormat::Text;
  return Status{};
}

constexpr std::uint32_t kCheckOneInMax = 1'000'000;
constexpr std::uint32_t kTurnStripesMax = 1024;
constexpr std::uint32_t kTurnThreadsMax = 16;  // As in server/replicas/options.h.

constexpr std::array kRows = {
    OptionRow{"data-dir",
              OptionShape::Value,
              "DIR",
              "directory of the node's log and checkpoints; required except for dev",
              &path<&NodeOptions::data_dir>},
    OptionRow{
        "shards",
        OptionShape::Value,
        "N",
        "number of shards of the cluster, 1 to 16777216, fixed when it is created (default 65536)",
        &number<&NodeOptions::shards, 1, protocol::kShardsMax>},
    OptionRow{
        "durability",
        OptionShape::Value,
        "durable|memory",
        "when a write is acknowledged: durable, once it is on the disks of a majority; memory, "
        "once it is in the memory of a majority, which a node loses when it restarts; equal on all "
        "nodes and fixed when the cluster is created (default durable)",
        &durability},
    OptionRow{
        "rejoin",
        OptionShape::Flag,
        "",
        "rebuild a lost, damaged or outdated data directory from the other nodes; use this only if "
        "no other process runs with a newer copy; a damaged directory is moved to DIR.damaged",
        &flag<&NodeOptions::rejoin>},
    OptionRow{"checkpoint-interval",
              OptionShape::Value,
              "TIME",
              "time between checkpoints of changed shards, 1s to 24h (default 30s); up to twice as "
              "long while very many sessions end together",
              &duration<&NodeOptions::checkpoint_interval_ms, 1000, kDayMs>},
    OptionRow{"ledger-keep-heads",
              OptionShape::Value,
              "POLICY",
              "retention of the log of published heads: all, entries:N, bytes:N; the newest head "
              "of each shard is always kept (default all)",
              &ledger_keep_heads},
    OptionRow{
        "ledger-keep",
        OptionShape::Value,
        "all|BOUND,...",
        "retention of each shard's history: all, or bounds entries:N, bytes:N[KiB|MiB|GiB|TiB], "
        "age:TIME; the oldest entries are pruned first, 256 at a time (default all)",
        &ledger_keep},
    OptionRow{"ledger-prune-delay",
              OptionShape::Value,
              "TIME",
              "while rights are checked: how long an order of gcoordctl ledger prune waits that no "
              "second person confirms, 1m to 6d; give all nodes the same (default 24h)",
              &duration<&NodeOptions::ledger_prune_delay_ms, 60'000, 6 * kDayMs>},
    OptionRow{"ledger-bytes-max",
              OptionShape::Value,
              "all|N[KiB|MiB|GiB|TiB]",
              "bound of the histories of all shards together: the oldest entries of the largest "
              "shards are "
              "pruned, never those behind the newest published head (default: a tenth of the file "
              "system, "
              "at least 1GiB; all in data directories of releases without this option)",
              &ledger_bytes_max},
    OptionRow{"device",
              OptionShape::Value,
              "cpu|auto|cuda:N|twin",
              "device that steps the shards, or runs the resident turn; auto: the first usable "
              "GPU, else the CPU; twin: emulation of a GPU on the host, for tests (default cpu)",
              &device},
    OptionRow{"device-check",
              OptionShape::Value,
              "N",
              "repeat one of N steps of a device on the host and check its memory, 0 to 1000000; "
              "0: check nothing (default 64)",
              &number<&NodeOptions::device_check_one_in, 0, kCheckOneInMax>},
    OptionRow{
        "gpu-policy",
        OptionShape::Value,
        "CLASS=ACTION,...",
        "what the node does about faults of its GPU; classes xid-fatal, xid-program, "
        "ecc-uncorrected, ecc-corrected-rate, link-error, thermal, hung; actions ignore, log, "
        "drain, restart-context, stop (default xid-fatal=stop,ecc-uncorrected=restart-context,"
        "link-error=drain,hung=drain, the others log; with --durability memory "
        "ecc-uncorrected=drain)",
        &gpu_policy},
    OptionRow{
        "gpu-quiet",
        OptionShape::Value,
        "TIME",
        "a fault of the GPU is over, and a drain for it, when it was not seen for so long, 1s "
        "to 24h (default 10m)",
        &duration<&NodeOptions::gpu_quiet_ms, 1000, kDayMs>},
    OptionRow{"turn",
              OptionShape::Value,
              "host|resident",
              "host: a loop on the host runs the node's turn; resident: the device runs it by "
              "itself, in clusters of 3, 5 or 7 nodes; without a GPU the host emulates the device; "
              "equal on all nodes (default host)",
              &turn},
    OptionRow{
        "turn-threads",
        OptionShape::Value,
        "N",
        "number of threads that share the shards, up to 16: of --turn host on processors in a "
        "turn, of --turn resident behind the device, where 1 is the loop alone; nodes and "
        "restarts may differ in it; 0: one for every eight processors that the process may use, "
        "at least 1 and at most 4, and 1 with --turn resident (default 0)",
        &number<&NodeOptions::turn_threads, 0, kTurnThreadsMax>},
    OptionRow{"turn-stripes",
              OptionShape::Value,
              "N",
              "for --turn resident: number of thread groups that share the shards, up to 1024; a "
              "device must have room for the groups of all nodes on it; 0: one for every 4096 "
              "shards, from 16 to 256; equal on all nodes (default 0)",
              &number<&NodeOptions::turn_stripes, 0, kTurnStripesMax>},
    OptionRow{"resident-peers",
              OptionShape::Value,
              "auto|mapped|proxy",
              "for --turn resident: how two nodes' devices exchange messages; mapped: each maps "
              "the other's memory, on one host; proxy: their hosts carry the messages over "
              "--peer-transport; auto: mapped if both nodes can, else proxy (default auto)",
              &resident_peers},
    OptionRow{"trace",
              OptionShape::Value,
              "FILE",
              "write every shard transition to FILE as JSON lines; if FILE exists, to FILE.2, "
              "FILE.3 and so on",
              &path<&NodeOptions::trace_file>},
    OptionRow{"cpu-profiles",
              OptionShape::Flag,
              "",
              "allow whoever reaches the metrics port to have CPU profiles made (/debug/profile), "
              "by gperftools' libprofiler (default off)",
              &flag<&NodeOptions::cpu_profiles>},
    OptionRow{"log-level",
              OptionShape::Value,
              "LEVEL[,COMPONENT=LEVEL...]",
              "level of the log: off, error, warn, info or debug, and of components with another "
              "one: node, peers, consensus, clients, locks, sessions, ledger, disk, http, gpu, "
              "links; SIGHUP reads it anew from the file of --config, and gcoordctl log level "
              "sets it until the node ends (default info)",
              &log_level},
    OptionRow{"log-format",
              OptionShape::Value,
              "text|json",
              "text: lines for people; json: one JSON object a line (default text)",
              &log_format},
    OptionRow{"log-file",
              OptionShape::Value,
              "FILE",
              "append the log to FILE, not to stderr; SIGHUP opens it anew, for rotation",
              &path<&NodeOptions::log_file>},
};

}  // namespace

std::span<const OptionRow> engine_rows() {
  return kRows;
}

}  // namespace gcoord::server
