#include "isa/table.hpp"

namespace subsalt::generic {
const Table& table() {
    static const Table t{"generic", "fma", 1};
    return t;
}
} // namespace subsalt::generic
