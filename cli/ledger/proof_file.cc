#include "cli/ledger/proof_file.h"

#include "common/base64.h"
#include "common/json/strict.h"
#include "common/json/text.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/proof.h"
#include "ledger/tiles/hidden_entry.h"

#include <algorithm>
#include <span>
#include <utility>

namespace gcoord::cli {
namespace {

constexpr const char* kEntryFormat = "gcoord-entry-proof/1";
constexpr const char* kGrowthFormat = "gcoord-growth-proof/1";
constexpr const char* kNotedFormat = "gcoord-noted-proof/1";

Json json_of(const Hashes& hashes) {
  Json json = Json::array();
  for (const ledger::MerkleHash& hash : hashes) {
    json.push_back(to_base64(hash));
  }
  return json;
}

Json json_of(const server::RecordFacts& facts) {
  Json json = Json::object();
  for (const auto& [name, value] : facts) {
    json[name] = value;
  }
  return json;
}

Json members_of(const EntryProof& proof) {
  return {{"cluster", std::to_string(proof.cluster)},
          {"shard", std::to_string(proof.shard)},
          {"entry",
           {{"index", std::to_string(proof.index)},
            {"bytes", to_base64(proof.entry)},
            {"decoded", json_of(proof.decoded)}}},
          {"shard_head",
           {{"size", std::to_string(proof.shard_size)},
            {"root", to_base64(proof.shard_root)},
            {"inclusion", json_of(proof.entry_inclusion)}}},
          {"cluster_log",
           {{"leaf_index", std::to_string(proof.leaf_index)},
            {"size", std::to_string(proof.cluster_size)},
            {"root", to_base64(proof.cluster_root)},
            {"inclusion", json_of(proof.head_inclusion)}}},
          {"checkpoint", proof.checkpoint}};
}

Json json_of(const EntryProof& proof) {
  Json json = members_of(proof);
  json["format"] = kEntryFormat;
  return json;
}

Json json_of(const NotedProof& proof) {
  return {{"format", kNotedFormat},
          {"proof", members_of(proof.entry)},
          {"note", members_of(proof.note)}};
}

Json json_of(const GrowthProof& proof) {
  return {{"format", kGrowthFormat},
          {"older", proof.older},
          {"newer", proof.newer},
          {"consistency", json_of(proof.consistency)}};
}

Json json_of(const ProofFile& proof) {
  return std::visit([](const auto& each) { return json_of(each); }, proof);
}

ledger::MerkleHash digest_of(const Json& json) {
  const std::string text = json.dump();
  return ledger::hash_leaf(std::as_bytes(std::span(text)));
}

// Members of an object have no order; these have the usual one if they are the usual ones.
server::RecordFacts in_order(server::RecordFacts facts, server::RecordFacts usual) {
  return std::is_permutation(facts.begin(), facts.end(), usual.begin(), usual.end())
             ? std::move(usual)
             : std::move(facts);
}

EntryProof read_entry_proof(StrictObject& file) {
  EntryProof proof;
  proof.cluster = file.number("cluster");
  proof.shard = file.small_number("shard");
  StrictObject entry = file.object("entry");
  proof.index = entry.number("index");
  proof.entry = entry.bytes("bytes");
  proof.decoded = in_order(entry.texts("decoded"), server::record_facts(proof.entry));
  entry.end();
  StrictObject head = file.object("shard_head");
  proof.shard_size = head.number("size");
  proof.shard_root = head.hash("root");
  proof.entry_inclusion = head.hashes("inclusion", ledger::kProofHashesMax);
  head.end();
  StrictObject log = file.object("cluster_log");
  proof.leaf_index = log.number("leaf_index");
  proof.cluster_size = log.number("size");
  proof.cluster_root = log.hash("root");
  proof.head_inclusion = log.hashes("inclusion", ledger::kProofHashesMax);
  log.end();
  proof.checkpoint = file.text("checkpoint");
  return proof;
}

EntryProof read_nested_proof(StrictObject nested) {
  EntryProof proof = read_entry_proof(nested);
  nested.end();
  return proof;
}

GrowthProof read_growth_proof(StrictObject& file) {
  return {.older = file.text("older"),
          .newer = file.text("newer"),
          .consistency = file.hashes("consistency", ledger::kProofHashesMax)};
}

}  // namespace

bool is_hidden(const EntryProof& proof) {
  return ledger::parse_hidden_entry(proof.entry).has_value();
}

std::string_view fact_of(const server::RecordFacts& facts, std::string_view name) {
  const auto found = std::find_if(
      facts.begin(), facts.end(), [&](const auto& each) { return each.first == name; });
  return found == facts.end() ? std::string_view{} : std::string_view{found->second};
}

std::vector<std::string_view> listed_ends(const server::RecordFacts& facts) {
  std::vector<std::string_view> sessions;
  std::string_view ends = fact_of(facts, "ends");
  while (!ends.empty()) {
    const std::string_view end = ends.substr(0, ends.find(' '));
    sessions.push_back(end.substr(0, end.find(':')));
    ends.remove_prefix(std::min(ends.size(), end.size() + 1));
  }
  return sessions;
}

bool is_of_session(const server::RecordFacts& facts, std::string_view session) {
  if (session.empty() || session == "0") {
    return false;
  }
  const std::vector<std::string_view> ends = listed_ends(facts);
  return std::ranges::find(ends, session) != ends.end() || fact_of(facts, "session") == session;
}

std::string print_proof(const ProofFile& proof) {
  Json json = json_of(proof);
  json["digest"] = to_base64(digest_of(json));
  return json.dump() + "\n";
}

Result<ReadProof> parse_proof_file(std::string_view text) {
  if (text.size() > kProofFileBytesMax) {
    return Status{StatusCode::DataLoss,
                  "the file has " + std::to_string(text.size()) + " bytes, the most is " +
                      std::to_string(kProofFileBytesMax),
                  ledger::kProofFileOversized};
  }
  const auto json = parse_json_strict(text);
  if (!json.ok()) {
    return Status{StatusCode::DataLoss, json.status().message(), ledger::kProofFileMalformed};
  }
  std::string wrong;
  StrictObject file(json.value(), "", wrong);
  const std::string format = file.text("format");
  ReadProof read;
  if (format == kEntryFormat) {
    read.proof = read_entry_proof(file);
  } else if (format == kGrowthFormat) {
    read.proof = read_growth_proof(file);
  } else if (format == kNotedFormat) {
    EntryProof entry = read_nested_proof(file.object("proof"));
    read.proof = NotedProof{std::move(entry), read_nested_proof(file.object("note"))};
  } else if (wrong.empty()) {
    wrong = "/format is unknown to this release";
  }
  const ledger::MerkleHash digest = file.hash("digest");
  if (wrong.empty()) {
    file.end();
  }
  if (!wrong.empty()) {
    return Status{StatusCode::DataLoss, wrong, ledger::kProofFileMalformed};
  }
  read.digest_fits = digest == digest_of(json_of(read.proof));
  return read;
}

}  // namespace gcoord::cli
