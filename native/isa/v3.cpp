#include "isa/table.hpp"

namespace subsalt::v3 {
const Table& table() {
    static const Table t{"v3", "fma", 8};
    return t;
}
} // namespace subsalt::v3
