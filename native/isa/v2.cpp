#include "isa/table.hpp"

namespace subsalt::v2 {
const Table& table() {
    static const Table t{"v2", "mul-add", 4};
    return t;
}
} // namespace subsalt::v2
