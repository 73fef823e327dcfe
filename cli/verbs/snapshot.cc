// gcoordctl snapshot: save what a node holds into a file, look at such a file, make data
// directories of it.
#include "cli/terminal/any_node.h"
#include "cli/terminal/command.h"
#include "cli/verbs/snapshot_report.h"
#include "ledger/snapshot/file.h"
#include "protocol/error_codes.h"
#include "server/platform/system_random.h"
#include "server/restore/restore.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {

namespace {

// --- save

struct SaveText {
  std::string file;
  std::uint32_t node = 0;  // 0: any that is connected.
};

// Bytes so far, on a terminal, a few times a second.
class Progress {
 public:
  ~Progress() {
    if (shown_) {
      std::fputs("\n", stderr);
    }
  }

  void show(std::uint64_t bytes) {
    const auto now = std::chrono::steady_clock::now();
    if (terminal_ && now - shown_at_ >= std::chrono::milliseconds{200}) {
      std::fprintf(stderr, "\rsaved %.1f MiB", static_cast<double>(bytes) / (1 << 20));
      shown_at_ = now;
      shown_ = true;
    }
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point shown_at_{};
};

// Checks what comes while it is written: a file that is not whole never gets its name.
class CheckedWriter {
 public:
  explicit CheckedWriter(ledger::SnapshotFileWriter& file) : file_(file), decoder_(report_) {}

  Status take(std::span<const std::byte> bytes) {
    GCOORD_TRY_STATUS(decoder_.feed(bytes));
    GCOORD_TRY_STATUS(file_.write(bytes));
    bytes_ += bytes.size();
    progress_.show(bytes_);
    return {};
  }

  Status finish() {
    GCOORD_TRY_STATUS(decoder_.finish());
    report_.conclude();
    return {};
  }

  Status commit() { return file_.commit(); }

  std::uint64_t moves_lost() const { return report_.moves_lost(); }

  Json json() const {
    return report_.json({.file_bytes = bytes_, .end = decoder_.end(), .digest = decoder_.digest()});
  }

 private:
  ledger::SnapshotFileWriter& file_;
  SnapshotReport report_;
  ledger::SnapshotDecoder decoder_;
  std::uint64_t bytes_ = 0;
  Progress progress_;
};

// As long as the node serves no save yet (it has just begun, or sends others), and --timeout lasts.
// What has begun to come is not read again: the file has its beginning.
client::Status read_patiently(client::Client& client,
                              std::uint32_t node,
                              std::chrono::milliseconds timeout,
                              const client::Client::SnapshotSink& sink) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto until = std::chrono::steady_clock::now() + timeout;
  bool began = false;
  const auto take = [&](std::span<const std::byte> bytes) {
    began = true;
    return sink(bytes);
  };
  client::Status read = client.read_snapshot(node, take);
  while (!began && read.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::SnapshotBusy) &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kPause);
    read = client.read_snapshot(node, take);
  }
  return read;
}

// A node that is behind with the shard where a moved lock is, and not with the one that it came
// from, lacks its hold; a moment later it does not.
constexpr int kSaveTriesMax = 5;

// What became of one try; Json when it is whole.
struct Saved {
  Json facts;
  std::uint64_t moves_lost = 0;
};

Result<Saved> save_once(client::Client& client,
                        ledger::SnapshotFileWriter& file,
                        std::uint32_t node,
                        std::chrono::milliseconds timeout,
                        client::Status& read) {
  CheckedWriter writer(file);
  Status here;
  const auto take = [&](std::span<const std::byte> bytes) {
    here = writer.take(bytes);
    return here.ok() ? client::Status{}
                     : client::Status{client::StatusCode::Cancelled, here.message()};
  };
  read = read_patiently(client, node, timeout, take);
  GCOORD_TRY_STATUS(here);
  if (!read.ok()) {
    return Saved{};
  }
  GCOORD_TRY_STATUS(writer.finish());
  GCOORD_TRY_STATUS(writer.commit());
  return Saved{writer.json(), writer.moves_lost()};
}

int save(Context& context, const SaveText& text) {
  auto file = ledger::SnapshotFileWriter::create(text.file);
  if (!file.ok()) {
    return context.fail(explained(file.status()));
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (text.node != 0) {
    // It may be another than the one that answered first.
    const auto others = client->wait_for_all_nodes(context.timeout());
    static_cast<void>(others.ok());
  }
  const std::uint32_t node =
      text.node != 0 ? text.node : any_node_with_state(*client, context.timeout());
  Saved saved;
  for (int i = 0; i == 0 || (i < kSaveTriesMax && saved.moves_lost != 0); ++i) {
    if (i != 0) {
      file = ledger::SnapshotFileWriter::create(text.file);
    }
    client::Status read;
    auto outcome = file.ok() ? save_once(*client, *file.value(), node, context.timeout(), read)
                             : Result<Saved>{file.status()};
    if (!outcome.ok()) {
      return context.fail(explained(outcome.status()));
    }
    if (!read.ok()) {
      return context.fail(*client, read);
    }
    saved = std::move(outcome).value();
  }
  Json json = {{"file", text.file}};
  merge_members(json, saved.facts);
  context.output().print_facts(json);
  return 0;
}

void add_save_command(Command& snapshot, Context& context) {
  auto text = std::make_shared<SaveText>();
  Command* verb = snapshot.add_subcommand(
      "save",
      "save all shards of a node into a file, each at an applied index; the data goes to "
      "FILE.part, which becomes FILE once it is complete, checked and durable; --timeout bounds "
      "each answer of the node, not the whole save");
  verb->add_option("file", text->file, "file to write; replaces an older file")
      ->required()
      ->type_name("FILE");
  verb->add_option("--node", text->node, "node to save (default: any node that answers)")
      ->type_name("ID");
  verb->callback([&context, text] {
    context.choose([text](Context& chosen) { return save(chosen, *text); });
  });
}

// --- inspect

struct InspectText {
  std::string file;
  bool shards = false;
};

int inspect(Context& context, const InspectText& text) {
  SnapshotReport report(text.shards ? SnapshotReport::Rows::Keep : SnapshotReport::Rows::Count);
  const auto facts = ledger::read_snapshot(text.file, report);
  if (!facts.ok()) {
    return context.fail(explained(facts.status()));
  }
  report.conclude();
  const Json json = report.json(facts.value());
  if (text.shards) {
    context.output().print(json, report.table());
  } else {
    context.output().print_facts(json);
  }
  return 0;
}

void add_inspect_command(Command& snapshot, Context& context) {
  auto text = std::make_shared<InspectText>();
  Command* verb =
      snapshot.add_subcommand("inspect",
                              "check the hash and the content of a snapshot file and describe it; "
                              "exit 1 with GC8301 to GC8306 if the file is incomplete, damaged "
                              "(with the place), of a newer release, or not a snapshot");
  verb->add_option("file", text->file, "the snapshot")->required()->type_name("FILE");
  verb->add_flag("--shards", text->shards, "list every shard");
  verb->callback([&context, text] {
    context.choose([text](Context& chosen) { return inspect(chosen, *text); });
  });
}

// --- restore

struct RestoreText {
  std::string file;
  std::string data_directory;
  std::uint32_t node = 0;
  std::vector<std::uint32_t> nodes;
  std::uint64_t cluster = 0;
  std::string token;
  std::uint64_t token_bump = server::kTokenBump;
  std::string sessions = "keep";
  std::string turn = "host";
};

server::RestoreOptions options_of(const RestoreText& text) {
  server::RestoreOptions options{
      .file = text.file,
      .data_directory = text.data_directory,
      .node = NodeId{text.node},
      .nodes = {},
      .cluster = ClusterId{text.cluster},
      .cluster_token = text.token,
      .token_bump = text.token_bump,
      .drop_sessions = text.sessions == "drop",
      .turn = text.turn == "resident" ? server::RestoreTurn::Resident : server::RestoreTurn::Host,
      .random_id = server::draw_random()};
  for (const std::uint32_t node : text.nodes) {
    options.nodes.push_back(NodeId{node});
  }
  return options;
}

// What to start on the node, short of the addresses.
std::string command_line(const RestoreText& text, const server::Restored& restored) {
  return "gcoordd --node-id " + std::to_string(text.node) + " --cluster-id " +
         std::to_string(restored.cluster.value) + " --shards " +
         std::to_string(restored.header.shard_count) + " --durability " +
         (restored.header.durable ? "durable" : "memory") + " --data-dir " + text.data_directory +
         (text.turn == "host" ? "" : " --turn " + text.turn) +
         (text.nodes.size() > 1 ? " --peer ..." : "");
}

int restore(Context& context, const RestoreText& text) {
  ::umask(077);  // The files of a data directory are its user's alone, libraries' too.
  const auto restored = server::restore_snapshot(options_of(text));
  if (!restored.ok()) {
    return context.fail(explained(restored.status()));
  }
  context.output().print_facts(
      Json{{"data_dir", text.data_directory},
           {"node", text.node},
           {"nodes", text.nodes},
           {"cluster_id", std::to_string(restored.value().cluster.value)},
           {"saved_cluster_id", std::to_string(restored.value().header.cluster.value)},
           {"shards", restored.value().header.shard_count},
           {"durability", restored.value().header.durable ? "durable" : "memory"},
           {"turn", text.turn},
           {"sessions", std::to_string(restored.value().sessions)},
           {"locks", std::to_string(restored.value().locks)},
           {"moves_settled", std::to_string(restored.value().moves_settled)},
           {"moves_lost", std::to_string(restored.value().moves_lost)},
           {"token_bump", std::to_string(text.token_bump)},
           {"start", command_line(text, restored.value())}});
  return 0;
}

void add_restore_command(Command& snapshot, Context& context) {
  auto text = std::make_shared<RestoreText>();
  Command* verb = snapshot.add_subcommand(
      "restore",
      "make the data directory of one node of a new cluster; run this for every node with the same "
      "file and the same options except --node and --data-dir, then start gcoordd as printed");
  verb->add_option("file", text->file, "the snapshot")->required()->type_name("FILE");
  verb->add_option("--data-dir", text->data_directory, "directory to create, or an empty one")
      ->required()
      ->type_name("DIR");
  verb->add_option("--node", text->node, "node that gets this directory")
      ->required()
      ->type_name("ID");
  verb->add_option("--nodes", text->nodes, "ids of all nodes of the new cluster, 1 to 7 nodes")
      ->required()
      ->delimiter(',')
      ->type_name("ID,...");
  Option* cluster =
      verb->add_option("--cluster-id",
                       text->cluster,
                       "number of the new cluster (default: derived from the file's hash and these "
                       "options, so that nodes with different restores refuse each other)");
  cluster->type_name("N");
  verb->add_option("--cluster-token",
                   text->token,
                   "any text, the same for all nodes; distinguishes this cluster from others that "
                   "are restored from the same file")
      ->excludes(cluster)
      ->type_name("TEXT");
  verb->add_option("--token-bump",
                   text->token_bump,
                   "number of tokens per shard to skip, at least as many as were granted after the "
                   "save (default 1099511627776)")
      ->type_name("N");
  verb->add_option(
          "--sessions",
          text->sessions,
          "keep: sessions keep their locks and their TTLs start again; drop: all locks are free")
      ->one_of({"keep", "drop"})
      ->type_name("keep|drop");
  verb->add_option("--turn",
                   text->turn,
                   "turn of the new cluster, whichever the saved one had; resident: 3, 5 or 7 "
                   "nodes, durable "
                   "(default host)")
      ->one_of({"host", "resident"})
      ->type_name("host|resident");
  verb->callback([&context, text] {
    context.choose([text](Context& chosen) { return restore(chosen, *text); });
  });
}

}  // namespace

void add_snapshot_commands(Command& app, Context& context) {
  Command* snapshot = app.add_subcommand("snapshot", "back up and restore a cluster");
  snapshot->require_subcommand(1);
  add_save_command(*snapshot, context);
  add_inspect_command(*snapshot, context);
  add_restore_command(*snapshot, context);
}

}  // namespace gcoord::cli
