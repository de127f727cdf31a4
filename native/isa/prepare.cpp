// Preparation of traces.
#include "kernels/trace_bands.hpp"

namespace subsalt::SUBSALT_NS {

const PrepareTable& prepare_table() {
    static const PrepareTable table{prepare_traces};
    return table;
}

} // namespace subsalt::SUBSALT_NS
