# Frames as a stranger or a peer may send them.
gcoord_fuzz_test(NAME peer_frame_fuzz
  SOURCES peer_frame_fuzz.cc
  DEPS common netcore/channel netcore/memory netcore/transport)
# The handshake in which nodes prove themselves, as somebody without the secret may send it.
gcoord_fuzz_test(NAME peer_proof_fuzz
  SOURCES peer_proof_fuzz.cc
  DEPS common netcore/channel netcore/memory netcore/proof netcore/transport security/secret)
# Memory that a client shares with a node, as the client may leave it.
gcoord_fuzz_test(NAME client_ring_fuzz
  SOURCES client_ring_fuzz.cc
  DEPS common netcore/client_ring protocol)
