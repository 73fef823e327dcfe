// gcoordctl whoami: who this client is to a node, by which proof, and what it may do. One thread.
#pragma once

namespace gcoord::cli {

class Context;

// Asks one connected node, which decides by what it answers.
int whoami(Context& context);

}  // namespace gcoord::cli
