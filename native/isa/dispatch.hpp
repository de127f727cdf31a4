// Which instruction set runs: the best one this processor has, or the one SUBSALT_ISA names.
#pragma once

#include <string>
#include <vector>

#include "isa/lab_table.hpp"
#include "isa/table.hpp"
#include "trace_work.hpp"

namespace subsalt {

/// The table in use. Chosen once, at the first call; throws std::runtime_error when SUBSALT_ISA names one that is
/// absent.
const Table& kernels();

/// Names of the instruction sets that are compiled in and supported here, the best last.
std::vector<std::string> available();

/// Names of the instruction sets that this processor has and that are better than those compiled in, the best last.
std::vector<std::string> left_out();

/// The table of that name; throws std::runtime_error when it is not available.
const Table& kernels_named(const std::string& name);

/// The measurements of the lab of that name; throws std::runtime_error when it is not available.
const LabTable& lab_named(const std::string& name);

/// Preparation of traces by the instruction set of that name, or by the one in use for an empty name.
const PrepareTable& prepare_named(const std::string& name);

} // namespace subsalt
