// gcoordctl cluster init: configuration files of a new cluster, and the commands that start it.
#include "cli/cluster/files.h"
#include "cli/cluster/plan.h"
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

Json json_of(const ClusterPlan& plan, const std::vector<std::filesystem::path>& files) {
  Json nodes = Json::array();
  for (const PlannedNode& node : plan.nodes) {
    const std::string file = files[node.id - 1].string();
    nodes.push_back(Json{{"node", node.id},
                         {"client", server::to_string(node.client)},
                         {"peer", server::to_string(node.peer)},
                         {"metrics", server::to_string(node.metrics)},
                         {"ledger", server::to_string(node.ledger)},
                         {"data_dir", node.data_dir},
                         {"configuration", file},
                         {"command", "gcoordd --config " + shell_word(file)}});
  }
  return Json{{"cluster_name", plan.name},
              {"cluster_id", std::to_string(plan.cluster_id)},
              {"endpoints", plan.endpoints()},
              {"nodes", nodes}};
}

// The commands are the value; a shell may run them as they are.
void print_commands(const ClusterPlan& plan, const std::vector<std::filesystem::path>& files) {
  const bool here = std::ranges::all_of(
      plan.nodes, [](const PlannedNode& node) { return server::is_loopback(node.client); });
  for (const PlannedNode& node : plan.nodes) {
    std::cout << "gcoordd --config " << shell_word(files[node.id - 1].string())
              << (here ? "" : "  # on " + node.client.host) << "\n";
  }
  std::cerr << (here ? "Run each of these in a terminal of its own"
                     : "Copy each file to its host and run its command there")
            << ", all of them for the first start. Then:\n"
            << "  export GCOORD_ENDPOINTS=" << plan.endpoints() << "\n  gcoordctl status\n"
            << "For every later command, instead of the variable:\n  gcoordctl context set "
            << plan.name << " --endpoints " << plan.endpoints() << "\n";
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
  const auto plan = plan_cluster(wishes);
  if (!plan.ok()) {
    return context.fail(plan.status());
  }
  const auto files = write_configurations(plan.value(), directory);
  if (!files.ok()) {
    return context.fail(files.status());
  }
  if (context.output().format() == Format::JsonLines) {
    context.output().print(json_of(plan.value(), files.value()), {});
  } else {
    print_commands(plan.value(), files.value());
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
  verb->add_flag("--insecure",
                 text->wishes.insecure,
                 "allow hosts beyond loopback, without encryption and authentication");
  add_cluster_secret_commands(*cluster, context);
}

}  // namespace gcoord::cli
