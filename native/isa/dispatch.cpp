#include "isa/dispatch.hpp"
#include "isa/row_dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

namespace subsalt {

#if defined(__x86_64__)
namespace v2 {
const Table& table();
const LabTable& lab_table();
const PrepareTable& prepare_table();
const RowTable& row_table();
} // namespace v2
namespace v3 {
const Table& table();
const LabTable& lab_table();
const PrepareTable& prepare_table();
const RowTable& row_table();
} // namespace v3
namespace v4 {
const Table& table();
const LabTable& lab_table();
const PrepareTable& prepare_table();
const RowTable& row_table();
} // namespace v4
#elif defined(__aarch64__)
namespace neon {
const Table& table();
const LabTable& lab_table();
const PrepareTable& prepare_table();
const RowTable& row_table();
} // namespace neon
#endif
#ifdef SUBSALT_GENERIC
namespace generic {
const Table& table();
const LabTable& lab_table();
const PrepareTable& prepare_table();
const RowTable& row_table();
} // namespace generic
#endif

namespace {

struct Entry {
    const char* name;
    const Table& (*table)();
    const LabTable& (*lab)();
    const PrepareTable& (*prepare)();
    const RowTable& (*rows)();
    bool supported;
};

// In order of preference, the best last.
std::vector<Entry> entries() {
    std::vector<Entry> out;
#ifdef SUBSALT_GENERIC
    out.push_back({"generic", generic::table, generic::lab_table, generic::prepare_table, generic::row_table, true});
#endif
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool has_v3 = has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    out.push_back({"v2", v2::table, v2::lab_table, v2::prepare_table, v2::row_table, has_v2});
    out.push_back({"v3", v3::table, v3::lab_table, v3::prepare_table, v3::row_table, has_v3});
    out.push_back({"v4", v4::table, v4::lab_table, v4::prepare_table, v4::row_table, has_v4});
#elif defined(__aarch64__)
    out.push_back({"neon", neon::table, neon::lab_table, neon::prepare_table, neon::row_table, true});
#endif
    return out;
}

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (const auto& n : names)
        out += (out.empty() ? "" : ", ") + n;
    return out;
}

/// The entry of that name; throws when it is not there or not supported.
Entry entry_named(const std::string& name) {
    for (const auto& e : entries())
        if (e.supported && name == e.name) return e;
    throw std::runtime_error("instruction set '" + name + "' is not available here; there are " + joined(available()));
}

} // namespace

std::vector<std::string> available() {
    std::vector<std::string> out;
    for (const auto& e : entries())
        if (e.supported) out.emplace_back(e.name);
    return out;
}

const Table& kernels_named(const std::string& name) {
    return entry_named(name).table();
}

const LabTable& lab_named(const std::string& name) {
    return entry_named(name).lab();
}

const PrepareTable& prepare_named(const std::string& name) {
    return entry_named(name.empty() ? kernels().name : name).prepare();
}

const RowTable& rows_named(const std::string& name) {
    return entry_named(name.empty() ? kernels().name : name).rows();
}

const Table& kernels() {
    static const Table& chosen = []() -> const Table& {
        const char* forced = std::getenv("SUBSALT_ISA");
        if (forced != nullptr && *forced != '\0') return kernels_named(forced);
        const auto names = available();
        if (names.empty()) throw std::runtime_error("this processor lacks SSE 4.2 (x86-64-v2)");
        return kernels_named(names.back());
    }();
    return chosen;
}

} // namespace subsalt
