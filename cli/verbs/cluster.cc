// gcoordctl cluster init: configuration files of a new cluster, and the commands that start it.
#include "cli/certificates/facts.h"
#include "cli/cluster/plan.h"
#include "cli/cluster/trust.h"
#include "cli/terminal/command.h"
#include "server/platform/system_random.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {

namespace {

struct InitText {
  ClusterWishes wishes;
  std::string directory = "gcoord";
  bool tls = false;
};

// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string out = "'";
  for (const char byte : text) {
    out += byte == '\'' ? std::string{"'\\''"} : std::string{byte};
  }
  return out + "'";
}

// What init has planned and written.
struct MadeCluster {
  ClusterPlan plan;
  std::filesystem::path directory;
  WrittenCluster files;

  std::string configuration(const PlannedNode& node) const {
    return files.configurations[node.id - 1].string();
  }

  bool here() const { return plan.on_loopback(); }

  // Who may do what, for people.
  std::string access() const {
    if (!plan.first_admin.empty()) {
      return "Rights are checked from the start: only admin.crt may do anything, until it adds "
             "users and roles\n(docs/how-to/roles.md).";
    }
    if (plan.certified) {
      return "Clients need a certificate of this CA (gcoordctl cert issue user NAME --dir " +
             shell_word((directory / "ca").string()) +
             ");\nrights are off: whoever has one may do everything (docs/how-to/roles.md).";
    }
    return here() ? "Rights are off: every program of this machine may do everything."
                  : "Rights are off, and clients need no certificate: EVERYBODY WHO REACHES A NODE "
                    "MAY DO EVERYTHING.";
  }

  // What starts the node, on its host once the files are copied there.
  std::string command(const PlannedNode& node) const {
    const std::string file =
        here()
            ? configuration(node)
            : plan.files_dir + "/" + std::filesystem::path{configuration(node)}.filename().string();
    return "gcoordd --config " + shell_word(file);
  }

  // How clients speak with it: what stands behind gcoordctl.
  std::string client_flags() const {
    const TrustPaths paths = trust_paths(directory);
    return !plan.tls ? ""
                     : " --cacert " + shell_word(paths.authority.string()) + " --cert " +
                           shell_word(paths.operator_certificate.string()) + " --key " +
                           shell_word(paths.operator_key.string());
  }
};

Json json_of(const MadeCluster& made) {
  const ClusterPlan& plan = made.plan;
  Json nodes = Json::array();
  for (const PlannedNode& node : plan.nodes) {
    const std::string file = made.configuration(node);
    nodes.push_back(Json{{"node", node.id},
                         {"client", server::to_string(node.client)},
                         {"peer", server::to_string(node.peer)},
                         {"metrics", server::to_string(node.metrics)},
                         {"ledger", server::to_string(node.ledger)},
                         {"data_dir", node.data_dir},
                         {"configuration", file},
                         {"command", made.command(node)}});
  }
  Json others = Json::array();
  for (const std::filesystem::path& each : made.files.others) {
    others.push_back(each.string());
  }
  return Json{{"cluster_name", plan.name},
              {"cluster_id", std::to_string(plan.cluster_id)},
              {"endpoints", plan.endpoints()},
              {"tls", plan.tls},
              {"client_certificates",
               plan.certified ? "required"
               : plan.tls     ? "optional"
                              : "none"},
              {"first_admin", plan.first_admin.empty() ? Json(nullptr) : Json(plan.first_admin)},
              {"files", std::move(others)},
              {"nodes", nodes}};
}

void print_exports(const MadeCluster& made) {
  std::cerr << "  export GCOORD_ENDPOINTS=" << made.plan.endpoints() << "\n";
  if (made.plan.tls) {
    const TrustPaths paths = trust_paths(made.directory);
    std::cerr << "  export GCOORD_CACERT=" << shell_word(paths.authority.string())
              << "\n  export GCOORD_CERT=" << shell_word(paths.operator_certificate.string())
              << " GCOORD_KEY=" << shell_word(paths.operator_key.string()) << "\n";
  }
}

// The commands are the value; a shell may run them as they are.
void print_commands(const MadeCluster& made) {
  const ClusterPlan& plan = made.plan;
  const bool here = made.here();
  for (const PlannedNode& node : plan.nodes) {
    std::cout << made.command(node) << (here ? "" : "  # on " + node.client.host) << "\n";
  }
  const std::string copies =
      plan.tls
          ? "Copy node-N.toml, and node-N.crt, node-N.key, ca.crt, ca.crl and cluster.secret "
            "to " +
                plan.files_dir +
                " of its host, for the user who runs gcoordd;\nnever copy ca/. Run its command "
                "there"
          : "Copy node-N.toml to " + plan.files_dir + " of its host. Run its command there";
  std::cerr << (here ? "Run each of these in a terminal of its own" : copies)
            << ", all of them for the first start. Then:\n";
  print_exports(made);
  std::cerr << "  gcoordctl status\nFor every later command, instead of the variable:\n"
               "  gcoordctl context set "
            << plan.name << " --endpoints " << plan.endpoints() << made.client_flags() << "\n"
            << made.access() << "\n";
}

int init(Context& context, const InitText& text) {
  ClusterWishes wishes = text.wishes;
  const auto directory = std::filesystem::absolute(text.directory).lexically_normal();
  if (wishes.data_dir.empty()) {
    wishes.data_dir = wishes.hosts.empty() ? directory.string() : "/var/lib/gcoord";
  }
  while (wishes.data_dir.size() > 1 && wishes.data_dir.ends_with('/')) {
    wishes.data_dir.pop_back();
  }
  while (wishes.cluster_id == 0) {
    wishes.cluster_id = server::draw_random();
  }
  wishes.tls = text.tls || (!wishes.hosts.empty() && !wishes.insecure);
  if (wishes.files_dir.empty()) {
    wishes.files_dir = wishes.hosts.empty() ? directory.string() : "/etc/gcoord";
  }
  auto plan = plan_cluster(wishes);
  if (!plan.ok()) {
    return context.fail(plan.status());
  }
  auto files = write_cluster(plan.value(), directory, now_s());
  if (!files.ok()) {
    return context.fail(files.status());
  }
  const MadeCluster made{
      .plan = std::move(plan).value(), .directory = directory, .files = std::move(files).value()};
  if (context.output().format() == Format::JsonLines) {
    context.output().print(json_of(made), {});
  } else {
    print_commands(made);
  }
  return 0;
}

}  // namespace

void add_cluster_commands(Command& app, Context& context) {
  auto text = std::make_shared<InitText>();
  text->wishes.shards = 65'536;
  Command* cluster =
      app.add_subcommand("cluster", "make the configurations and the secret of a new cluster")
          ->require_subcommand(1);
  Command* verb = add_verb<InitText>(*cluster,
                                     context,
                                     text,
                                     "init",
                                     "write a configuration file for each node, and print the "
                                     "commands that start them; talks to no "
                                     "node, and writes over nothing",
                                     &init);
  verb->add_option("--nodes", text->wishes.nodes, "number of nodes, 1 to 7 (default 3)")
      ->in_range(1, 7)
      ->type_name("N");
  verb->add_option("--hosts",
                   text->wishes.hosts,
                   "the host of each node; without it all run on this machine's loopback")
      ->delimiter(',')
      ->type_name("HOST,...");
  verb->add_option("--dir", text->directory, "folder for the files (default ./gcoord)")
      ->type_name("DIR");
  verb->add_option("--name", text->wishes.name, "name of the cluster (default gcoord)")
      ->type_name("NAME");
  verb->add_option("--cluster-id", text->wishes.cluster_id, "id of the cluster (default random)")
      ->type_name("ID");
  verb->add_option(
          "--client-port",
          text->wishes.client_port,
          "port for clients of the first node of a host; its peer, metrics and ledger ports "
          "are 100, 200 and 300 above (default 7401 on loopback, else 7400)")
      ->type_name("N");
  verb->add_option("--shards", text->wishes.shards, "number of shards (default 65536)")
      ->type_name("N");
  verb->add_option("--data-dir",
                   text->wishes.data_dir,
                   "data directory, absolute; several nodes of a host get folders in it (default "
                   "--dir on loopback, else /var/lib/gcoord)")
      ->type_name("DIR");
  verb->add_option("--files-dir",
                   text->wishes.files_dir,
                   "where a node finds its certificate and the secret, absolute (default --dir on "
                   "loopback, else /etc/gcoord)")
      ->type_name("DIR");
  verb->add_flag(
      "--with-tls",
      text->tls,
      "make a CA, certificates and a cluster secret, and have the nodes speak TLS on all "
      "ports; so it is with --hosts, unless --insecure is given");
  verb->add_option("--client-certificates",
                   text->wishes.client_certificates,
                   "whether every client shows a certificate of the CA (default required beyond "
                   "loopback, else optional)")
      ->one_of({"optional", "required"})
      ->type_name("WISH");
  verb->add_flag("--with-rights",
                 text->wishes.rights,
                 "begin with rights checked, and admin.crt as the first administrator: others may "
                 "do nothing until it lets them");
  verb->add_flag("--insecure",
                 text->wishes.insecure,
                 "allow hosts beyond loopback without TLS: nothing is encrypted or authenticated");
  add_cluster_secret_commands(*cluster, context);
}

}  // namespace gcoord::cli
