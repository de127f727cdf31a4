#include "isa/dispatch.hpp"
#include "isa/row_dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

namespace subsalt {

// Of each instruction set whose objects are linked: its tables, and the entry that names them.
#define SUBSALT_TABLES(set)                                                                                            \
    namespace set {                                                                                                    \
    const Table& table();                                                                                              \
    const LabTable& lab_table();                                                                                       \
    const PrepareTable& prepare_table();                                                                               \
    const RowTable& row_table();                                                                                       \
    }
#define SUBSALT_ENTRY(set, supported)                                                                                  \
    Entry {                                                                                                            \
        #set, set::table, set::lab_table, set::prepare_table, set::row_table, supported                                \
    }
#define SUBSALT_NO_ENTRY(set, supported)                                                                               \
    Entry {                                                                                                            \
        #set, nullptr, nullptr, nullptr, nullptr, supported                                                            \
    }

#if defined(__x86_64__)
SUBSALT_TABLES(v2)
#ifdef SUBSALT_WITHOUT_v3
#define SUBSALT_ENTRY_v3 SUBSALT_NO_ENTRY
#else
#define SUBSALT_ENTRY_v3 SUBSALT_ENTRY
SUBSALT_TABLES(v3)
#endif
#ifdef SUBSALT_WITHOUT_v4
#define SUBSALT_ENTRY_v4 SUBSALT_NO_ENTRY
#else
#define SUBSALT_ENTRY_v4 SUBSALT_ENTRY
SUBSALT_TABLES(v4)
#endif
#elif defined(__aarch64__)
SUBSALT_TABLES(neon)
#endif
#ifdef SUBSALT_GENERIC
SUBSALT_TABLES(generic)
#endif

namespace {

/// The tables are null where the set was left out of this build (SUBSALT_LEVELS).
struct Entry {
    const char* name;
    const Table& (*table)();
    const LabTable& (*lab)();
    const PrepareTable& (*prepare)();
    const RowTable& (*rows)();
    bool supported;

    bool usable() const { return supported && table != nullptr; }
};

// In order of preference, the best last.
std::vector<Entry> entries() {
    std::vector<Entry> out;
#ifdef SUBSALT_GENERIC
    out.push_back(SUBSALT_ENTRY(generic, true));
#endif
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool has_v3 = has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    out.push_back(SUBSALT_ENTRY(v2, has_v2));
    out.push_back(SUBSALT_ENTRY_v3(v3, has_v3));
    out.push_back(SUBSALT_ENTRY_v4(v4, has_v4));
#elif defined(__aarch64__)
    out.push_back(SUBSALT_ENTRY(neon, true));
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
        if (e.usable() && name == e.name) return e;
    throw std::runtime_error("instruction set '" + name + "' is not available here; there are " + joined(available()));
}

} // namespace

std::vector<std::string> available() {
    std::vector<std::string> out;
    for (const auto& e : entries())
        if (e.usable()) out.emplace_back(e.name);
    return out;
}

std::vector<std::string> left_out() {
    std::vector<std::string> out;
    for (const auto& e : entries())
        if (e.usable())
            out.clear();
        else if (e.supported)
            out.emplace_back(e.name);
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
