#include "isa/table.hpp"

namespace subsalt::v4 {
const Table& table() {
    static const Table t{"v4", "fma", 16};
    return t;
}
} // namespace subsalt::v4
