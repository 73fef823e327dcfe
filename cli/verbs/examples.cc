#include "cli/verbs/examples.h"

#include <array>
#include <string>
#include <string_view>

namespace gcoord::cli {

namespace {

struct VerbExample {
  std::string_view verb;
  std::string_view rest;  // Behind "gcoordctl" and the verb.
};

constexpr std::array kExamples = {
    VerbExample{"status", "-o json"},
    VerbExample{"doctor", "-o json"},
    VerbExample{"health", "-o json"},
    VerbExample{"shard ls", "--node 2 --first 1000"},
    VerbExample{"shard show", "17"},
    VerbExample{"cluster init", "--nodes 3"},
    VerbExample{"cluster secret new", "cluster.secret"},
    VerbExample{"cluster secret rotate", "cluster.secret"},
    VerbExample{"cluster secret show", "cluster.secret -o json"},
    VerbExample{"cert ca", "--cluster-id 17"},
    VerbExample{"cert issue", "node 1 --hosts db1.example.org,10.0.0.1"},
    VerbExample{"cert renew", "node-1.crt"},
    VerbExample{"cert revoke", "alice.crt"},
    VerbExample{"cert show", "node-1.crt"},
    VerbExample{"cert verify", "node-1.crt --cacert ca.crt --host db1.example.org"},
    VerbExample{"member list", "-o json"},
    VerbExample{"member watch", "--after 3"},
    VerbExample{"member update", "2 --label zone=a --view 3"},
    VerbExample{"member add", "--name db4 --label zone=b --token-ttl 10m --wait"},
    VerbExample{"member replace", "2 db4 --dry-run"},
    VerbExample{"member promote", "4 --wait"},
    VerbExample{"member remove", "db4 --view 7 --wait"},
    VerbExample{"member drain", "2 --wait"},
    VerbExample{"member undrain", "2"},
    VerbExample{"member move-leaders", "2"},
    VerbExample{"member forget-directory", "2 --data-dir /var/lib/gcoord"},
    VerbExample{"auth login", "--user ann --password-file ann.password --out ann.token"},
    VerbExample{"auth whoami", "--token-file ann.token"},
    VerbExample{"whoami", "--cert ann.crt --key ann.key --cacert ca.crt"},
    VerbExample{"alarm list", "-o json"},
    VerbExample{"alarm disarm", "suspect-for-long:3"},
    VerbExample{"user add", "ann --role ops --no-password"},
    VerbExample{"user delete", "ann"},
    VerbExample{"user get", "ann -o json"},
    VerbExample{"user list", "-o json"},
    VerbExample{"user passwd", "ann --no-password"},
    VerbExample{"user grant", "ann ops root"},
    VerbExample{"user revoke", "ann root"},
    VerbExample{"user enable", "ann"},
    VerbExample{"user disable", "ann"},
    VerbExample{"role add", "ops read details --prefix jobs/"},
    VerbExample{"role delete", "ops"},
    VerbExample{"role get", "ops -o json"},
    VerbExample{"role list", "-o json"},
    VerbExample{"role grant", "ops lock.break --prefix jobs/"},
    VerbExample{"role revoke", "ops lock.break --prefix jobs/"},
    VerbExample{"limit list", "-o json"},
    VerbExample{"limit set", "--principal ann --rate 1000 --burst 2000 --sessions 10"},
    VerbExample{"limit remove", "--principal ann"},
    VerbExample{"deny list", "-o json"},
    VerbExample{"deny add", "--principal ann --for 10m --reason 'a loop of acquires'"},
    VerbExample{"deny remove", "--principal ann"},
    VerbExample{"auth enable", "--dry-run"},
    VerbExample{"auth disable", "--as ann"},
    VerbExample{"auth status", "-o json"},
    VerbExample{"auth rights", "-o json"},
    VerbExample{"lock acquire", "jobs/train --ttl 30s --wait 1m"},
    VerbExample{"lock release", "jobs/train --session 281474976710657 --token 7"},
    VerbExample{"lock get", "jobs/train --waiters"},
    VerbExample{"lock list", "jobs/"},
    VerbExample{"lock check", "jobs/train --token 7"},
    VerbExample{"lock break", "jobs/train --reason 'its host is gone'"},
    VerbExample{"lock move", "jobs/train --to-shard 17"},
    VerbExample{"lock run", "jobs/train --ttl 10s -- ./train.sh"},
    VerbExample{"lock deadlocks", "-o json"},
    VerbExample{"elect campaign", "leaders/scheduler --value 10.0.0.1:9000"},
    VerbExample{"elect observe", "leaders/scheduler"},
    VerbExample{"elect leader", "leaders/scheduler -o json"},
    VerbExample{"elect resign", "leaders/scheduler --epoch 7 --session 281474976710657"},
    VerbExample{"elect candidates", "leaders/scheduler"},
    VerbExample{"elect proclaim",
                "leaders/scheduler 10.0.0.1:9001 --epoch 7 --session 281474976710657"},
    VerbExample{"elect transfer", "leaders/scheduler --to 281474976710658"},
    VerbExample{"group join", "workers --id worker-7 --payload 10.0.0.7:80"},
    VerbExample{"group leave", "workers --session 281474976710657"},
    VerbExample{"group list", "workers"},
    VerbExample{"group watch", "workers"},
    VerbExample{"group barrier", "workers --size 8 --wait 1m"},
    VerbExample{"group rendezvous", "train --min 2 --max 8 --payload 10.0.0.7:29400"},
    VerbExample{"group round", "train"},
    VerbExample{"top", "--interval 5s --sort requests"},
    VerbExample{"watch", "--prefix jobs/ --events granted,released"},
    VerbExample{"session open", "--ttl 1m"},
    VerbExample{"session keep-alive", "281474976710657"},
    VerbExample{"session show", "281474976710657"},
    VerbExample{"session list", "-o json"},
    VerbExample{"session close", "281474976710657"},
    VerbExample{"lease grant", "--ttl 1m"},
    VerbExample{"lease keep-alive", "281474976710657"},
    VerbExample{"lease timetolive", "281474976710657"},
    VerbExample{"lease list", "-o json"},
    VerbExample{"lease revoke", "281474976710657"},
    VerbExample{"ledger head", "--ledger http://127.0.0.1:7700"},
    VerbExample{"ledger get", "4 --shard 17 --ledger http://127.0.0.1:7700"},
    VerbExample{"ledger prove", "4 --shard 17 --ledger http://127.0.0.1:7700 --out proof.json"},
    VerbExample{"ledger keys", "--ledger http://127.0.0.1:7700"},
    VerbExample{"ledger verify", "proof.json --key \"$KEY\""},
    VerbExample{"ledger fsck", "--ledger export --key \"$KEY\""},
    VerbExample{"ledger export", "export --ledger http://127.0.0.1:7700"},
    VerbExample{"ledger watch",
                "--ledger http://127.0.0.1:7700 --key \"$KEY\" --state auditor.json"},
    VerbExample{"ledger prune", "--node 1 --keep entries:100000"},
    VerbExample{"snapshot save", "monday.snapshot --node 2"},
    VerbExample{"snapshot inspect", "monday.snapshot"},
    VerbExample{"snapshot restore",
                "monday.snapshot --data-dir restored/node-1 --node 1 --nodes 1,2,3"},
    VerbExample{"quorum eval", "--voters 1,2,3 --votes 1=yes,2=yes"},
    VerbExample{"log level", "info,peers=debug --node 2"},
    VerbExample{"bench lock", "--load s --report bench.html"},
    VerbExample{"bench lease", "--rate 500 --duration 30s"},
    VerbExample{"bench elect", "--rate 200 --distribution zipf"},
    VerbExample{"bench watch", "--rate 1000 --csv watch.csv"},
    VerbExample{"bench read", "--rate 5000 --clients 200 --threads 2"},
    VerbExample{"bench queue", "--waiters 1000"},
    VerbExample{"debug bundle", "--out support.tar.gz"},
    VerbExample{"version", "-o json"},
    VerbExample{"completion", "bash"},
    VerbExample{"context list", "-o json"},
    VerbExample{"context use", "prod"},
    VerbExample{"context set", "prod --endpoints 10.0.0.1:7400,10.0.0.2:7400 --timeout 2s"},
    VerbExample{"context show", "prod"},
    VerbExample{"context rm", "prod"},
};

}  // namespace

std::string example_of(const std::string& verb) {
  for (const VerbExample& each : kExamples) {
    if (each.verb == verb) {
      return "gcoordctl " + verb + " " + std::string{each.rest};
    }
  }
  return {};
}

}  // namespace gcoord::cli
