// Products of rows by instruction set; apart from `dispatch.hpp`, as few ask for it.
#pragma once

#include <string>

#include "row_work.hpp"

namespace subsalt {

/// Products of rows by the instruction set of that name, or by the one in use for an empty name.
const RowTable& rows_named(const std::string& name);

} // namespace subsalt
