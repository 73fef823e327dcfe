// Proof files as somebody who is not trusted may write them.
#include "cli/ledger/proof_check.h"
#include "cli/ledger/proof_file.h"
#include "ledger/notes/shard_head.h"
#include "protocol/error_codes.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <string>

namespace {

using namespace gcoord;  // NOLINT: a program of its own.

ledger::NoteSigner signer() {
  return ledger::NoteSigner::make("gcoord/1/node/1", ledger::NoteSeed{}).value();
}

std::string signed_checkpoint(std::uint64_t size, const ledger::MerkleHash& root) {
  ledger::SignedNote note{
      .text = ledger::checkpoint_text({.origin = "gcoord/1", .size = size, .root = root})};
  note.signatures = {ledger::sign_note(signer(), note.text)};
  return ledger::print_note(note);
}

// The second of two heads, whose shard has one entry.
cli::EntryProof proof() {
  cli::EntryProof proof{.cluster = 1, .shard = 2, .entry = std::vector<std::byte>(8)};
  proof.decoded = server::record_facts(proof.entry);
  proof.shard_size = 1;
  proof.shard_root = ledger::hash_leaf(proof.entry);
  const auto head = ledger::encode_head({ShardId{2}, 1, proof.shard_root});
  proof.leaf_index = 1;
  proof.cluster_size = 2;
  proof.head_inclusion = {ledger::hash_leaf({})};
  proof.cluster_root = ledger::hash_node(proof.head_inclusion[0], ledger::hash_leaf(head));
  proof.checkpoint = signed_checkpoint(2, proof.cluster_root);
  return proof;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  static cli::ProofChecker checker({.keys = {signer().key()}, .quorum = 1, .origin = "gcoord/1"});
  const auto read = cli::parse_proof_file({reinterpret_cast<const char*>(bytes), byte_count});
  const Status status = read.ok() ? checker.check(read.value()) : read.status();
  if (!status.ok()) {
    GCOORD_ASSERT(protocol::find_error(status.detail()) != nullptr);
    return 0;
  }
  // Whatever is believed is one of the seeds: nobody else can sign.
  const std::string text = cli::print_proof(read.value().proof);
  GCOORD_ASSERT(text == cli::print_proof(proof()) || text.find("growth") != text.npos);
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const cli::GrowthProof growth{.older = signed_checkpoint(0, ledger::empty_root()),
                                .newer = signed_checkpoint(2, proof().cluster_root),
                                .consistency = {}};
  std::vector<FuzzInput> seeds;
  for (const std::string& seed : {cli::print_proof(proof()), cli::print_proof(growth)}) {
    seeds.emplace_back(seed.begin(), seed.end());
  }
  return seeds;
}
