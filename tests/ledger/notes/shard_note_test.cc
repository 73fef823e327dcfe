#include "ledger/notes/shard_note.h"

#include "ledger/base/error_details.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::ledger {
namespace {

CheckpointNote with_lines(const std::vector<std::string>& lines) {
  return {.origin = "o", .size = 1, .root = {}, .extensions = lines};
}

TEST(ShardNote, LeadsToItsPlaceInTheClusterLog) {
  const ShardHead head{ShardId{3}, 77, empty_root()};
  const CheckpointNote note = shard_checkpoint(9, head, {41, 42});
  EXPECT_EQ(checkpoint_text(note),
            "gcoord/9/shard/3\n77\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\ncluster 41 42\n");
  EXPECT_EQ(cluster_place(note).value(), (ClusterPosition{41, 42}));
  EXPECT_EQ(cluster_place(with_lines({"other", "cluster 0 18446744073709551615"})).value(),
            (ClusterPosition{0, ~std::uint64_t{0}}));
}

TEST(ShardNote, APlaceHasOneSpelling) {
  for (const char* line : {"cluster",
                           "cluster ",
                           "cluster 1",
                           "cluster 1 ",
                           "cluster 1 01",
                           "cluster 2 2",
                           "cluster 1 2 ",
                           "cluster 1 2 3",
                           "cluster -1 2",
                           "cluster 1\t2",
                           "cluster 3 2",
                           "cluster 1 18446744073709551616"}) {
    EXPECT_EQ(cluster_place(with_lines({line})).status().detail(), kHeadMalformed) << line;
  }
  EXPECT_EQ(cluster_place(with_lines({})).status().detail(), kHeadMalformed);
  EXPECT_EQ(cluster_place(with_lines({"cluster 1 2", "cluster 1 2"})).status().detail(),
            kHeadMalformed);
}

}  // namespace
}  // namespace gcoord::ledger
